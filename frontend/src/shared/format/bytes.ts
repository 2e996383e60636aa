/** Sizes in bytes, by 1,024, as brokers count them. */
import { numberFormat } from "./formatters";
import { toBigInt, type Whole } from "./numbers";

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];

/** 1,536 -> 1.5 KB. Exact up to 2**63: the division is of whole numbers until little is left. */
export function formatBytes(value: Whole, locale: string): string {
  let whole = toBigInt(value);
  const sign = whole < 0n ? "-" : "";
  if (whole < 0n) whole = -whole;
  let unit = 0;
  while (whole >= 1024n * 1024n && unit < UNITS.length - 2) {
    whole /= 1024n;
    unit += 1;
  }
  let shown = Number(whole);
  if (shown >= 1024 && unit < UNITS.length - 1) {
    shown /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || shown >= 100 ? 0 : 1;
  return `${sign}${numberFormat(locale, { maximumFractionDigits: digits }).format(shown)} ${UNITS[unit]}`;
}
