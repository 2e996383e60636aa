/**
 * A list: sorted, searched and cut by the API, drawn row by row as it is scrolled (TanStack Table and Virtual).
 *
 * It shows all states of a read: loading, empty, nothing found, failed (with what was there before), stale (grey).
 * Keys: arrows, Page Up and Down, Home and End move between rows, Enter opens, Space selects.
 * Nothing here asks for anything: one request per page is the screen's (frontend/README.md has an example).
 */
import { Box, Progress } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { getCoreRowModel, type Row as TableRow, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { type Column, columnsFor, leastWidth } from "./columns";
import classes from "./DataTable.module.css";
import { Head } from "./Head";
import { Line } from "./Line";
import { nextRow } from "./row_keys";
import { type Selection, toggled } from "./selection";
import { NothingHere, Placeholder } from "./states";

export const ROW_PX = 36;
/** Fewer rows than this are all drawn: virtual rows would only cost. */
const FEW = 30;
/** Rows drawn beyond those that are seen: few at first, so that those are there soon; then enough to scroll fast. */
const BEYOND = { first: 4, then: 24 };
const THEN_MS = 150;
/** Lower than this nobody can read a list: then the page scrolls as well. */
const LEAST_PX = 320;
/** Before the table was measured, every column is there. */
const WIDE = 10_000;
const NONE: never[] = [];

export interface DataTableProps<Row> {
  /** What the list is, for those who cannot see it. */
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined: not read yet. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  /** What a row is called where its key says little. */
  rowName?: (row: Row) => string;
  error?: unknown;
  onRetry?: () => void;
  /** The next page is being read: the present rows stay. */
  isFetching?: boolean;
  isStale?: boolean;
  sort?: string;
  onSort?: (order: string) => void;
  onOpen?: (row: Row) => void;
  /** What is said where there are no rows at all. */
  empty?: ReactNode;
  /** Set while filters are on: then an empty list says so, and how to be rid of them. */
  onClearFilters?: () => void;
  selection?: Selection;
  /** Keys of rows that are on the screen, some time after it stood still: the ones to watch live. */
  onVisible?: (keys: string[]) => void;
  /** Takes the height that is left of the page and scrolls inside; otherwise as high as its rows. */
  fill?: boolean;
  /** Of the whole list, if this is a page of it. */
  count?: number;
  /** Rows before this page. */
  offset?: number;
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { columns, rows, rowKey, fill = true, error, selection } = props;
  const t = useShared();
  const scroller = useRef<HTMLDivElement>(null);
  const size = useElementSize<HTMLDivElement>();
  const ref = useMergedRef(scroller, size.ref);
  const width = size.width || WIDE;
  const shown = useMemo(() => columnsFor(columns, width), [columns, width]);
  const lines = useReactTable<Row>({
    data: (rows ?? NONE) as Row[],
    columns: useMemo(() => shown.map((column) => ({ id: column.key, header: column.title })), [shown]),
    getRowId: rowKey,
    getCoreRowModel: getCoreRowModel(),
    manualSorting: true,
    manualPagination: true,
  }).getRowModel().rows;
  const { drawn, move, active, setActive } = useDrawn(lines, scroller, fill);
  useVisible(lines, drawn, props.onVisible);
  useEffect(() => {
    // Another page begins at its top.
    scroller.current?.scrollTo({ top: 0 });
  }, [props.offset, props.sort]);
  return (
    <Box
      className={`${classes.frame} ${fill ? classes.fill : ""}`}
      mih={fill && lines.length > 0 ? Math.min(LEAST_PX, (lines.length + 1) * ROW_PX) : undefined}
    >
      {error !== undefined && error !== null && (
        <Box p="sm">
          <ProblemAlert error={error} onRetry={props.onRetry} />
        </Box>
      )}
      <div className={classes.busy}>
        {props.isFetching && (
          <Progress value={100} animated size={2} radius={0} aria-label={t("table.refreshing")} />
        )}
      </div>
      <div ref={ref} className={classes.scroller} onKeyDown={move}>
        <table
          className={`${classes.table} ${props.isStale ? classes.stale : ""}`}
          style={{ minWidth: leastWidth(shown) + (selection ? 36 : 0) }}
          aria-label={props.label}
          aria-rowcount={(props.count ?? lines.length) + 1}
          aria-busy={rows === undefined && !error}
        >
          <Head
            columns={shown}
            sort={props.sort}
            onSort={props.onSort}
            selection={selection}
            keys={lines.map((line) => line.id)}
          />
          <Lines
            table={props}
            lines={lines}
            drawn={drawn}
            columns={shown}
            active={active}
            onActivate={setActive}
          />
        </table>
        {rows !== undefined && rows.length === 0 && (
          <NothingHere empty={props.empty} onClearFilters={props.onClearFilters} />
        )}
      </div>
    </Box>
  );
}

/** Which rows are drawn, and which one the keys are at. */
function useDrawn<Row>(lines: TableRow<Row>[], scroller: RefObject<HTMLDivElement | null>, fill: boolean) {
  const isVirtual = fill && lines.length > FEW;
  const [active, setActive] = useState(0);
  const [overscan, setOverscan] = useState(BEYOND.first);
  useEffect(() => {
    if (lines.length === 0) return;
    const timer = window.setTimeout(() => setOverscan(BEYOND.then), THEN_MS);
    return () => window.clearTimeout(timer);
  }, [lines.length]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan,
    getItemKey: (at) => lines[at]?.id ?? at,
  });
  function move(event: React.KeyboardEvent) {
    const to = nextRow(event.key, active, lines.length);
    if (to === null || (event.target as HTMLElement).closest("input,button,select,thead")) return;
    event.preventDefault();
    setActive(to);
    if (isVirtual) virtual.scrollToIndex(to);
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-at="${to}"]`)?.focus();
    });
  }
  const drawn = isVirtual ? virtual.getVirtualItems().map((item) => item.index) : [...lines.keys()];
  return { drawn, move, active: Math.min(active, lines.length - 1), setActive };
}

interface LinesProps<Row> {
  table: DataTableProps<Row>;
  lines: TableRow<Row>[];
  drawn: number[];
  columns: readonly Column<Row>[];
  active: number;
  onActivate: (at: number) => void;
}

function Lines<Row>({ table, lines, drawn, columns, active, onActivate }: LinesProps<Row>) {
  const { selection, offset = 0, rowName } = table;
  const [first = 0, last = -1] = [drawn[0], drawn[drawn.length - 1]];
  const span = columns.length + (selection ? 1 : 0);
  return (
    <tbody>
      {first > 0 && <Gap rows={first} span={span} />}
      {drawn.map((at) => {
        const line = lines[at];
        if (line === undefined) return null;
        return (
          <Line
            key={line.id}
            at={at}
            number={offset + at + 2}
            row={line.original}
            name={rowName?.(line.original) ?? line.id}
            columns={columns}
            isActive={at === active}
            isSelected={selection?.keys.has(line.id)}
            onActivate={onActivate}
            onOpen={table.onOpen}
            onSelect={selection && (() => selection.onChange(toggled(selection.keys, line.id)))}
          />
        );
      })}
      {last >= 0 && last < lines.length - 1 && <Gap rows={lines.length - 1 - last} span={span} />}
      {table.rows === undefined && !table.error && <Placeholder columns={columns} />}
    </tbody>
  );
}

/** As high as the rows that are not drawn. */
function Gap({ rows, span }: { rows: number; span: number }) {
  return (
    <tr aria-hidden style={{ height: rows * ROW_PX }}>
      <td colSpan={span} style={{ padding: 0, border: 0 }} />
    </tr>
  );
}

const STILL_MS = 250;

function useVisible<Row>(lines: TableRow<Row>[], drawn: number[], tell?: (keys: string[]) => void) {
  const keys = tell ? drawn.map((at) => lines[at]?.id ?? "").join("\n") : "";
  const latest = useRef(tell);
  useEffect(() => {
    latest.current = tell;
  });
  useEffect(() => {
    if (latest.current === undefined) return;
    const timer = window.setTimeout(() => latest.current?.(keys === "" ? [] : keys.split("\n")), STILL_MS);
    return () => window.clearTimeout(timer);
  }, [keys]);
}
