/** How many members were online, and a mark for each time that changed. */
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { useNow } from "@/shared/ui/use_now";
import type { Rebalance } from "./group";
import { stepsOf } from "./member_steps";
import classes from "./Rebalances.module.css";

const WIDTH = 1000;
const HEIGHT = 60;

export function MemberStrip({ events, label }: { events: readonly Rebalance[]; label: string }) {
  const locale = useLocale();
  const shared = useShared();
  const steps = stepsOf(events, useNow());
  if (!steps) return null;
  const line = steps.corners.map(([x, y]) => `${x * WIDTH},${HEIGHT - y * (HEIGHT - 12)}`).join(" L");
  return (
    <figure style={{ margin: 0 }} aria-label={label}>
      <svg
        className={classes.strip}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden
      >
        <path className={classes.area} d={`M0,${HEIGHT} L${line} L${WIDTH},${HEIGHT}`} />
        {steps.ticks.map((tick, number) => (
          <line
            key={number}
            className={classes.tick}
            x1={tick.x * WIDTH}
            x2={tick.x * WIDTH}
            y1={0}
            y2={8}
            stroke={tick.hasLeft ? "var(--sb-bad)" : "var(--sb-ok)"}
          />
        ))}
      </svg>
      <figcaption className={classes.ends}>
        <span>{formatTime(steps.from, locale)}</span>
        <span>{label}</span>
        <span>{shared("time.now")}</span>
      </figcaption>
    </figure>
  );
}
