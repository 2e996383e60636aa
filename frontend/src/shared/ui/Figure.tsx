/**
 * Figures in lists and tiles: counts, rates, sizes, spans. Null is unknown.
 *
 *     <Count value={row.lag} short />   <Rate value={row.put_rate} />   <Bytes value={row.size_bytes} />   <Span seconds={row.lag_s} />
 */
import { formatBytes } from "@/shared/format/bytes";
import { formatDuration } from "@/shared/format/durations";
import {
  formatCount,
  formatRate,
  formatRatio,
  formatShort,
  toBigInt,
  type Whole,
} from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { Unknown } from "./Unknown";

interface Known<T> {
  value: T | null | undefined;
  why?: string;
}

/** Above this a short form is easier to read; the title has all digits. */
const LONG = 9_999_999n;

interface CountProps extends Known<Whole> {
  short?: boolean;
  /** Why it may be more: shown with a sign in front of the figure. */
  atLeast?: string | false;
}

export function Count({ value, why, short = false, atLeast = false }: CountProps) {
  const locale = useLocale();
  if (value === null || value === undefined) return <Unknown why={why} />;
  const whole = formatCount(value, locale);
  const isShort = short && toBigInt(value) > LONG;
  return (
    <span className="sb-figure" title={atLeast || (isShort ? whole : undefined)}>
      {atLeast && "≥ "}
      {isShort ? formatShort(value, locale) : whole}
    </span>
  );
}

export function Rate({ value, why }: Known<number>) {
  const locale = useLocale();
  if (value === null || value === undefined) return <Unknown why={why} />;
  return <span className="sb-figure">{formatRate(value, locale)}</span>;
}

export function Ratio({ value, why }: Known<number>) {
  const locale = useLocale();
  if (value === null || value === undefined) return <Unknown why={why} />;
  return <span className="sb-figure">{formatRatio(value, locale)}</span>;
}

export function Bytes({ value, why }: Known<Whole>) {
  const locale = useLocale();
  if (value === null || value === undefined) return <Unknown why={why} />;
  return (
    <span className="sb-figure" title={formatCount(value, locale)}>
      {formatBytes(value, locale)}
    </span>
  );
}

export function Span({ seconds, why }: { seconds: number | null | undefined; why?: string }) {
  const locale = useLocale();
  if (seconds === null || seconds === undefined) return <Unknown why={why} />;
  return <span className="sb-figure">{formatDuration(seconds, locale)}</span>;
}
