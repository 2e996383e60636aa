/** The room of a screen: its margins, and scrolling. A table that fills takes the height that is left (DataTable). */
import type { ReactNode } from "react";
import classes from "./Page.module.css";

export function Page({ children }: { children: ReactNode }) {
  return <div className={classes.page}>{children}</div>;
}
