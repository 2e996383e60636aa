/** Labels as people write them: one per line, `name=value`. Pure. */
export function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [name = "", ...value] = line.split("=");
    if (name.trim() !== "") labels[name.trim()] = value.join("=").trim();
  }
  return labels;
}

export function textOf(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

export function linesOf(text: string): string[] {
  return text
    .split(/[\s,;]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
