/** How long, in the two largest units that matter: 40s, 3m 20s, 2h 5m, 4d 3h. */
import { numberFormat } from "./formatters";

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

export function formatDuration(seconds: number, locale: string): string {
  if (seconds < 1)
    return seconds > 0 ? piece(Math.ceil(seconds * 1000), "millisecond", locale) : piece(0, "second", locale);
  let left = Math.round(seconds);
  const pieces: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) pieces.push(piece(count, unit, locale));
    if (pieces.length === 2 || (pieces.length === 1 && count === 0)) break;
  }
  return pieces.join(" ");
}

export function formatMilliseconds(ms: number, locale: string): string {
  return ms < 1000 ? piece(Math.round(ms), "millisecond", locale) : formatDuration(ms / 1000, locale);
}

function piece(count: number, unit: string, locale: string): string {
  return numberFormat(locale, { style: "unit", unit, unitDisplay: "narrow" }).format(count);
}
