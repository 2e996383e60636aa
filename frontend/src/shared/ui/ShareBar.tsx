/** A part of the largest as a thin bar, beside the figure that says it exactly. */
import classes from "./ShareBar.module.css";
import type { Tone } from "./StateBadge";

export function ShareBar({ share, tone = "info" }: { share: number; tone?: Tone }) {
  return (
    <span className={`${classes.bar} sb-${tone}`} aria-hidden>
      <i style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
    </span>
  );
}
