/** One figure with its name; a row of them heads a screen. */
import type { ReactNode } from "react";
import classes from "./StatTile.module.css";
import type { Tone } from "./StateBadge";

interface Props {
  label: string;
  children: ReactNode;
  /** Smaller, below the figure. */
  note?: ReactNode;
  tone?: Tone;
  isStale?: boolean;
}

export function StatTile({ label, children, note, tone, isStale = false }: Props) {
  return (
    <div className={`${classes.tile} ${tone ? `sb-${tone}` : ""}`}>
      <dt className={classes.label}>{label}</dt>
      <dd className={`${classes.figure} ${isStale ? "sb-stale" : ""} ${tone ? classes.toned : ""}`}>
        {children}
      </dd>
      {note !== undefined && <dd className={classes.note}>{note}</dd>}
    </div>
  );
}

export function StatTiles({ children }: { children: ReactNode }) {
  return <dl className={classes.tiles}>{children}</dl>;
}
