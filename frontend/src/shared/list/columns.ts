/** Columns of a table: what they show, how wide, from which width of the table on, and what the API sorts them by. */
import type { ReactNode } from "react";

export interface Column<Row> {
  key: string;
  title: string;
  render: (row: Row) => ReactNode;
  /** Pixels. The first column without one takes what is left. */
  width?: number;
  /** Shown when the table is at least this wide. */
  from?: number;
  align?: "left" | "right";
  /** The API's name for it; without one it cannot be sorted. */
  sort?: string;
  /** Figures: the largest first at the first click. */
  largestFirst?: boolean;
}

const LEAST_FREE = 180;

/** Those that are wanted at this width and fit into it: the ones that need most room go first. */
export function columnsFor<Row>(columns: readonly Column<Row>[], width: number): Column<Row>[] {
  let shown = columns.filter((column) => (column.from ?? 0) <= width);
  while (leastWidth(shown) > width) {
    const widest = Math.max(...shown.map((column) => column.from ?? 0));
    if (widest === 0) break;
    const last = shown.findLastIndex((column) => column.from === widest);
    shown = shown.filter((_, at) => at !== last);
  }
  return shown;
}

/** Below it the table scrolls sideways instead of squeezing. */
export function leastWidth<Row>(columns: readonly Column<Row>[]): number {
  return columns.reduce((sum, column) => sum + (column.width ?? LEAST_FREE), 0);
}

/** What a click on the head asks for: by it, the other way round, and so on. */
export function nextOrder<Row>(column: Column<Row>, current: string): string {
  const { sort = "" } = column;
  if (current === sort) return `-${sort}`;
  if (current === `-${sort}`) return sort;
  return column.largestFirst ? `-${sort}` : sort;
}

export function orderOf<Row>(column: Column<Row>, current: string): "ascending" | "descending" | "none" {
  if (!column.sort) return "none";
  return current === column.sort ? "ascending" : current === `-${column.sort}` ? "descending" : "none";
}
