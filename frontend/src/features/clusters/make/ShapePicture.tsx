/** The cluster as boxes: name servers above, a column per group with its master and its slaves. */
import classes from "./Make.module.css";

const MOST_GROUPS = 12;

export function ShapePicture({
  groups,
  slaves,
  servers,
}: {
  groups: number;
  slaves: number;
  servers: number;
}) {
  const shown = Math.min(groups, MOST_GROUPS);
  return (
    <div className={classes.picture} aria-hidden>
      <div className={classes.row}>
        {Array.from({ length: servers }, (_, at) => (
          <i key={at} className={classes.server} />
        ))}
      </div>
      <div className={classes.row}>
        {Array.from({ length: shown }, (_, at) => (
          <span key={at} className={classes.column}>
            <i className={classes.master} />
            {Array.from({ length: slaves }, (_, number) => (
              <i key={number} className={classes.slave} />
            ))}
          </span>
        ))}
        {groups > shown && <span className={classes.more}>{`+${groups - shown}`}</span>}
      </div>
    </div>
  );
}
