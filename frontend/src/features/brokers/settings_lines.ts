/** Which lines of a table of settings are shown. Pure. */
import type { Answer } from "@/shared/api/client";

export type SettingsAnswer = Answer<"/clusters/{cluster}/broker_settings/">;
export type SettingLine = SettingsAnswer["settings"][number];
export type Shown = "all" | "drifted" | "different" | "settable";

export function linesFor(lines: readonly SettingLine[], show: Shown, search: string): SettingLine[] {
  const wanted = search.toLowerCase();
  return lines.filter((line) => {
    if (show === "drifted" && !line.is_drifted) return false;
    if (show === "different" && !line.is_different) return false;
    if (show === "settable" && line.rule === null) return false;
    return wanted === "" || fits(line, wanted);
  });
}

function fits(line: SettingLine, wanted: string): boolean {
  const texts = [line.key, ...line.cells.flatMap((cell) => [cell.running ?? "", cell.wanted ?? ""])];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

/** The value that most brokers run with: others stand out against it. Null where nobody answered. */
export function commonOf(line: SettingLine): string | null {
  const counts = new Map<string, number>();
  for (const cell of line.cells)
    if (cell.running !== null) counts.set(cell.running, (counts.get(cell.running) ?? 0) + 1);
  let best: string | null = null;
  for (const [value, count] of counts) if (best === null || count > (counts.get(best) ?? 0)) best = value;
  return best;
}
