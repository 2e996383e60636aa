/** Moments: as a date in the zone of whoever looks, and as how long ago. */
import { formatDuration } from "./durations";
import { timeFormat } from "./formatters";

export function formatTime(at: string | number | Date, locale: string, zone?: string): string {
  return timeFormat(locale, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone: zone,
  }).format(new Date(at));
}

/** With milliseconds, as logs want it. */
export function formatExactTime(at: string | number | Date, locale: string, zone?: string): string {
  const date = new Date(at);
  return `${formatTime(date, locale, zone)}.${String(date.getUTCMilliseconds()).padStart(3, "0")}`;
}

export function ageOf(at: string | null, now: number): number | null {
  return at === null ? null : Math.max(0, (now - Date.parse(at)) / 1000);
}

/** "3m 20s" for an age; words around it belong to texts. */
export function formatAge(seconds: number, locale: string): string {
  return formatDuration(Math.floor(seconds), locale);
}

/** The later of two moments, either of which may be missing. */
export function later(left: string | null | undefined, right: string | null | undefined): string | null {
  if (!left || !right) return left || right || null;
  return Date.parse(left) >= Date.parse(right) ? left : right;
}
