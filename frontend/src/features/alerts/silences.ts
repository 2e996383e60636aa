/** Whether a silence holds at a moment. Pure. */
export function stateAt(
  silence: { starts_at: string; ends_at: string },
  now: number,
): "planned" | "active" | "over" {
  if (now < Date.parse(silence.starts_at)) return "planned";
  return now < Date.parse(silence.ends_at) ? "active" : "over";
}
