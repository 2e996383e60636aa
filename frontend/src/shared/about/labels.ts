/** Labels as people write them: `tier=1, region=eu`. Pure. */
export type Labels = Record<string, string>;

/** Null: it cannot be read as labels. */
export function parseLabels(text: string): Labels | null {
  const labels: Labels = {};
  for (const part of text.split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at < 1) return null;
    labels[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return labels;
}

export function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
