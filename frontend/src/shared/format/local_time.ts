/** Between ISO 8601 in UTC and what an input of the kind `datetime-local` shows. Pure, but for the machine's zone. */
export function toLocal(at: string): string {
  const moment = new Date(at);
  if (at === "" || Number.isNaN(moment.getTime())) return "";
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${String(moment.getFullYear()).padStart(4, "0")}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${day}T${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
}

export function fromLocal(text: string): string {
  const moment = new Date(text);
  return text === "" || Number.isNaN(moment.getTime()) ? "" : moment.toISOString().replace(".000Z", "Z");
}
