/** Ranges of charts: a word in the address, seconds for the API. */
import { oneOf } from "@/shared/url/search";

export const RANGES = {
  h1: 3_600,
  h6: 21_600,
  d1: 86_400,
  d7: 604_800,
  d30: 2_592_000,
  d90: 7_776_000,
} as const;
export type Range = keyof typeof RANGES;
export const RANGE_NAMES = Object.keys(RANGES) as Range[];

export function rangeField(missing: Range = "h1") {
  return oneOf(RANGE_NAMES, missing);
}

/** To the slot: the same minute asks for the same address. */
export function rangeStart(range: Range, now: number): string {
  const step = RANGES[range] > 86_400 ? 3_600_000 : 60_000;
  return new Date(Math.floor((now - RANGES[range] * 1000) / step) * step).toISOString();
}
