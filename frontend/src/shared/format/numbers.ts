/**
 * Counts and rates in words for people. 64-bit numbers are strings: BigInt for arithmetic, never Number.
 * Nothing here knows what unknown looks like: callers show <Unknown/> for null.
 */
import { numberFormat } from "./formatters";

export type Whole = string | number | bigint;

export function toBigInt(value: Whole): bigint {
  return typeof value === "bigint" ? value : BigInt(value);
}

/** 1,234,567 */
export function formatCount(value: Whole, locale: string): string {
  return numberFormat(locale).format(toBigInt(value));
}

/** 1.2M: where there is little room; the whole number belongs into the title. */
export function formatShort(value: Whole, locale: string): string {
  return numberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(toBigInt(value));
}

/** Messages per second: whole above a hundred, a digit below. */
export function formatRate(value: number, locale: string): string {
  const digits = value === 0 || value >= 100 ? 0 : value < 1 ? 2 : 1;
  return `${numberFormat(locale, { maximumFractionDigits: digits }).format(value)}/s`;
}

/** Along the axis of a chart: 1.2M, 450, 2.5. A picture, so fractions are fine. */
export function formatScale(value: number, locale: string): string {
  return numberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** 0.42 -> 42% */
export function formatRatio(value: number, locale: string): string {
  return numberFormat(locale, {
    style: "percent",
    maximumFractionDigits: value < 0.1 ? 1 : 0,
  }).format(value);
}

/** Null when one of them is not known: a sum of some is no sum. */
export function sumOf(values: (Whole | null)[]): bigint | null {
  let sum = 0n;
  for (const value of values) {
    if (value === null) return null;
    sum += toBigInt(value);
  }
  return sum;
}

export function difference(later: Whole | null, earlier: Whole | null): bigint | null {
  return later === null || earlier === null ? null : toBigInt(later) - toBigInt(earlier);
}

/** For sorting what is here already; unknown comes last. */
export function compareWhole(left: Whole | null, right: Whole | null): number {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  const [a, b] = [toBigInt(left), toBigInt(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}
