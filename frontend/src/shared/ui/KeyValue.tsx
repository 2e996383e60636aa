/** Names and values of one thing, in two columns; one on a narrow page. */
import type { ReactNode } from "react";
import classes from "./KeyValue.module.css";

export function KeyValue({
  items,
}: {
  items: readonly (readonly [name: string, value: ReactNode] | null)[];
}) {
  return (
    <dl className={classes.list}>
      {items.map(
        (item) =>
          item && (
            <div key={item[0]} className={classes.item}>
              <dt>{item[0]}</dt>
              <dd>{item[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
