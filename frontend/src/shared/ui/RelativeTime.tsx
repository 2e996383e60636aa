/** A moment as how long ago (or until), with the exact time on hover. */
import { formatAge, formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { Unknown } from "./Unknown";
import { useNow } from "./use_now";

interface Props {
  at: string | null | undefined;
  /** What a missing moment means: `never` happened, or nobody knows. */
  missing?: "never" | "unknown";
}

export function RelativeTime({ at, missing = "unknown" }: Props) {
  const t = useShared();
  const locale = useLocale();
  const now = useNow();
  if (!at) return missing === "never" ? <span className="sb-figure">{t("time.never")}</span> : <Unknown />;
  const seconds = (now - Date.parse(at)) / 1000;
  const age = formatAge(Math.abs(seconds), locale);
  const shown = Math.abs(seconds) < 2 ? t("time.now") : t(seconds >= 0 ? "time.ago" : "time.in", { age });
  return (
    <time dateTime={at} title={formatTime(at, locale)} className="sb-figure">
      {shown}
    </time>
  );
}

export function ExactTime({ at }: { at: string | null | undefined }) {
  const locale = useLocale();
  if (!at) return <Unknown />;
  return (
    <time dateTime={at} className="sb-figure">
      {formatTime(at, locale)}
    </time>
  );
}
