/** What the console says on /ws/v1/ (docs/live.md), and how rows are put together from it. Pure. */
export type Row = Record<string, unknown>;
export type Rows = Record<string, Row>;

export interface StateMessage {
  type: "state";
  channel: string;
  seq: number;
  sampled_at: string | null;
  data: Rows;
}

export interface ChangeMessage {
  type: "change";
  channel: string;
  seq: number;
  sampled_at: string | null;
  data: Record<string, Row | null>;
}

export interface ErrorMessage {
  type: "error";
  channel?: string;
  code: string;
  detail: string;
}

export type Message = StateMessage | ChangeMessage | ErrorMessage | { type: "pong" | "unsubscribed" };

/** Fields that are 64 bits wide in REST: strings there, so strings here. */
const WIDE = new Set(["lag", "messages", "size_bytes", "total", "position", "scanned", "found", "estimate"]);

export function parseMessage(text: string): Message {
  return JSON.parse(text, (name, value: unknown) =>
    typeof value === "number" && WIDE.has(name) ? String(value) : value,
  ) as Message;
}

export interface Told {
  seq: number;
  rows: Rows;
  sampledAt: string | null;
}

/** Null: a message was missed, and only the whole state helps. */
export function take(before: Told | undefined, message: StateMessage | ChangeMessage): Told | null {
  if (message.type === "state")
    return { seq: message.seq, rows: message.data, sampledAt: message.sampled_at };
  if (before === undefined || message.seq !== before.seq + 1) return null;
  return { seq: message.seq, rows: mergeRows(before.rows, message.data), sampledAt: message.sampled_at };
}

/** Rows that did not change stay the same objects: nothing of them is drawn again. */
export function mergeRows(rows: Rows, changes: Record<string, Row | null>): Rows {
  const names = Object.keys(changes);
  if (names.length === 0) return rows;
  const merged = new Map(Object.entries(rows));
  for (const name of names) {
    const change = changes[name];
    if (change === null || change === undefined) merged.delete(name);
    else merged.set(name, { ...merged.get(name), ...change });
  }
  return Object.fromEntries(merged);
}

/** A list that was read, with what is newer of its rows; by name, or by what `nameOf` says. */
export function mergeList<T extends object>(list: T[], rows: Rows, nameOf: (row: T) => string): T[] {
  let isChanged = false;
  const merged = list.map((row) => {
    const news = rows[nameOf(row)];
    if (news === undefined || !differs(row as Row, news)) return row;
    isChanged = true;
    return { ...row, ...pick(news, row as Row) };
  });
  return isChanged ? merged : list;
}

function differs(row: Row, news: Row): boolean {
  return Object.keys(news).some((key) => key in row && !same(row[key], news[key]));
}

/** Only fields that the list has: a live row has others, too. */
function pick(news: Row, row: Row): Row {
  return Object.fromEntries(Object.entries(news).filter(([key]) => key in row));
}

function same(left: unknown, right: unknown): boolean {
  return left === right || (typeof left === "object" && JSON.stringify(left) === JSON.stringify(right));
}
