/** How old the figures beside it are; grey and said aloud after three rounds of the collector. */
import { Tooltip } from "@mantine/core";
import { ageOf, formatAge, formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import classes from "./AgeBadge.module.css";
import { useNow } from "./use_now";

/** Three rounds of ten seconds. */
export const STALE_S = 30;

export function useIsStale(sampledAt: string | null | undefined): boolean {
  const age = ageOf(sampledAt ?? null, useNow());
  return age === null || age > STALE_S;
}

export function AgeBadge({ sampledAt }: { sampledAt: string | null | undefined }) {
  const t = useShared();
  const locale = useLocale();
  const age = ageOf(sampledAt ?? null, useNow());
  if (age === null || !sampledAt) {
    return (
      <Tooltip label={t("age.neverTitle")}>
        <span className={`${classes.badge} ${classes.stale}`}>{t("age.never")}</span>
      </Tooltip>
    );
  }
  const isStale = age > STALE_S;
  const words = { age: formatAge(age, locale) };
  const shown = isStale ? t("age.stale", words) : age < 2 ? t("age.now") : t("age.fresh", words);
  return (
    <Tooltip label={t(isStale ? "age.staleTitle" : "age.title", { time: formatTime(sampledAt, locale) })}>
      <span className={`${classes.badge} ${isStale ? classes.stale : ""}`}>
        <i className={classes.dot} />
        {shown}
      </span>
    </Tooltip>
  );
}
