/** What the group screens know about consumer groups. Pure. */
import { compareWhole, toBigInt } from "@/shared/format/numbers";
import type { components } from "@/types/api.gen";

type Schemas = components["schemas"];
export type GroupRow = Schemas["GroupRow"];
export type Group = Schemas["Group"];
export type Subscription = Schemas["Subscription"];
export type QueueLag = Schemas["QueueLag"];
export type Member = Schemas["Member"];
export type Rebalance = Schemas["GroupRebalance"];

/** Seconds behind when that was sampled: 0 where nothing is unread, null where it is not known. */
export function behindOf(
  lag: string | null,
  oldestUnreadAt: string | null,
  sampledAt: string | null,
): number | null {
  if (lag === "0") return 0;
  if (lag === null || oldestUnreadAt === null || sampledAt === null) return null;
  return Math.max(0, (Date.parse(sampledAt) - Date.parse(oldestUnreadAt)) / 1000);
}

/** Live rows say when the oldest unread message was stored; lists show how long before the sample that was. */
export function withBehind<T extends GroupRow>(
  rows: T[] | undefined,
  sampledAt: string | null,
): T[] | undefined {
  return rows?.map((row) => {
    const lag_s = behindOf(row.lag, row.oldest_unread_at, sampledAt);
    return lag_s === row.lag_s ? row : { ...row, lag_s };
  });
}

export interface Pace {
  lag: string | null;
  eta_s: number | null;
  never_clears: boolean;
}

/** In one word: cleared, never, in so many seconds, or not known. */
export function paceOf({ lag, eta_s, never_clears }: Pace): "clear" | "never" | "unknown" | number {
  if (lag === "0") return "clear";
  if (never_clears) return "never";
  return eta_s ?? "unknown";
}

/** The queue that takes longest; null when all are through or nothing is known. */
export function slowestOf(queues: readonly QueueLag[]): QueueLag | null {
  const behind = queues.filter((queue) => queue.lag !== null && queue.lag !== "0");
  const [first] = behind.sort(
    (left, right) =>
      Number(right.never_clears) - Number(left.never_clears) ||
      (right.eta_s ?? -1) - (left.eta_s ?? -1) ||
      -compareWhole(left.lag, right.lag),
  );
  return first ?? null;
}

/** RocketMQ numbers its versions: snapshots and releases take turns, ten patches to a minor. */
const V4 = 213;
const V5 = 413;

export function versionName(ordinal: number): string {
  const [major, first] = ordinal >= V5 ? [5, V5] : [4, V4];
  const step = ordinal - first;
  if (step < 0) return `#${ordinal}`;
  const number = Math.ceil(step / 2);
  return `${major}.${Math.floor(number / 10)}.${number % 10}${step % 2 === 1 ? "-SNAPSHOT" : ""}`;
}

/** Topics by name, with retries of the group itself at the end. */
export function byTopic(left: { topic: string }, right: { topic: string }): number {
  const isRetry = (topic: string) => Number(topic.startsWith("%RETRY%"));
  return (
    isRetry(left.topic) - isRetry(right.topic) ||
    (left.topic < right.topic ? -1 : left.topic > right.topic ? 1 : 0)
  );
}

export function byPlace(
  left: { topic: string; broker: string; queue: number },
  right: { topic: string; broker: string; queue: number },
): number {
  return (
    byTopic(left, right) ||
    (left.broker < right.broker ? -1 : left.broker > right.broker ? 1 : left.queue - right.queue)
  );
}

export const placeOf = (place: { topic: string; broker: string; queue: number }) =>
  `${place.topic}\n${place.broker}\n${place.queue}`;

/** By queue: which members hold it (several when they pop). */
export function holdersOf(members: readonly Member[]): Map<string, string[]> {
  const holders = new Map<string, string[]>();
  for (const member of members) {
    for (const queue of member.queues ?? []) {
      const place = placeOf(queue);
      holders.set(place, [...(holders.get(place) ?? []), member.client_id]);
    }
  }
  return holders;
}

/** Queue numbers in few words: 0–3, 7. */
export function rangesOf(numbers: readonly number[]): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts: string[] = [];
  let start = sorted[0];
  sorted.forEach((number, at) => {
    const next = sorted[at + 1];
    if (next === number + 1 || start === undefined) return;
    parts.push(start === number ? `${number}` : `${start}–${number}`);
    start = next;
  });
  return parts.join(", ");
}

/** More rebalances than this within ten minutes: members come and go. */
const FLAPPING = 5;
const WINDOW_MS = 600_000;

/** The most events within ten minutes, if that is many; newest first in, any order is fine. */
export function flappingOf(events: readonly Rebalance[]): number | null {
  const times = events.map((event) => Date.parse(event.at)).sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  times.forEach((at, last) => {
    while (at - (times[first] ?? at) > WINDOW_MS) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most > FLAPPING ? most : null;
}

/** Whole numbers as people type them; null: it is none. */
export function wholeOf(text: string): string | null {
  const plain = text.trim().replace(/[\s,_]/g, "");
  return /^[+-]?\d{1,19}$/.test(plain) ? String(toBigInt(plain.replace(/^\+/, ""))) : null;
}
