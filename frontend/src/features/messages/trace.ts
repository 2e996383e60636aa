/**
 * A message's story as lanes of a timeline: the producer, the broker, each group. Pure.
 *
 * Moments keep their order; the space between two of them grows with the logarithm of the time between them, so that
 * three milliseconds of sending and an hour of retries fit on one line. The picture says that it is not to scale.
 */
import type { components } from "@/types/api.gen";

export type Story = components["schemas"]["Story"];
export type TraceEvent = components["schemas"]["Event"];

export interface Bar {
  event: TraceEvent;
  /** From 0 to 1 of the width. */
  from: number;
  to: number;
}

export interface Lane {
  kind: "producer" | "broker" | "group";
  group: string | null;
  bars: Bar[];
}

export interface Tick {
  at: number;
  /** Milliseconds since the first moment. */
  sinceMs: number;
}

export interface Timeline {
  lanes: Lane[];
  ticks: Tick[];
}

function laneOf(event: TraceEvent): string {
  if (event.kind === "store") return "broker";
  return event.kind === "send" || event.kind === "transaction" ? "producer" : `group ${event.group ?? ""}`;
}

function spanOf(event: TraceEvent): [number, number] {
  const from = Date.parse(event.at ?? "");
  return [from, from + Math.max(0, event.took_ms ?? 0)];
}

export function timelineOf(events: readonly TraceEvent[]): Timeline {
  const timed = events.filter((event) => event.at !== null);
  const moments = [...new Set(timed.flatMap(spanOf))].sort((a, b) => a - b);
  const places = placesOf(moments);
  const lanes = new Map<string, Lane>();
  for (const event of timed) {
    const [from, to] = spanOf(event);
    const key = laneOf(event);
    const kind = key === "broker" || key === "producer" ? key : "group";
    const lane = lanes.get(key) ?? { kind, group: kind === "group" ? event.group : null, bars: [] };
    lane.bars.push({ event, from: places.get(from) ?? 0, to: places.get(to) ?? 0 });
    lanes.set(key, lane);
  }
  return { lanes: [...lanes.values()].sort(byKind), ticks: ticksOf(moments, places) };
}

const ORDER = { producer: 0, broker: 1, group: 2 } as const;

function byKind(left: Lane, right: Lane): number {
  return ORDER[left.kind] - ORDER[right.kind] || (left.group ?? "").localeCompare(right.group ?? "");
}

/** The least space between two moments, in the units of the logarithm. */
const LEAST = 0.6;

function placesOf(moments: readonly number[]): Map<number, number> {
  const sums: number[] = [0];
  for (let at = 1; at < moments.length; at += 1) {
    const gap = (moments[at] ?? 0) - (moments[at - 1] ?? 0);
    sums.push((sums[at - 1] ?? 0) + LEAST + Math.log10(1 + gap));
  }
  const whole = sums[sums.length - 1] || 1;
  return new Map(moments.map((moment, at) => [moment, (sums[at] ?? 0) / whole]));
}

/** Labels that do not run into each other: the first, the last, and what has room between them. */
const ROOM = 0.09;

function ticksOf(moments: readonly number[], places: Map<number, number>): Tick[] {
  const first = moments[0];
  if (first === undefined) return [];
  const last = moments[moments.length - 1] ?? first;
  const all = moments.map((moment) => ({ at: places.get(moment) ?? 0, sinceMs: moment - first }));
  const kept: Tick[] = [];
  for (const tick of all) {
    const before = kept[kept.length - 1];
    const isLast = tick.sinceMs === last - first;
    if (isLast && before && before.sinceMs > 0 && tick.at - before.at < ROOM) kept.pop();
    if (before === undefined || isLast || (tick.at - before.at >= ROOM && tick.at <= 1 - ROOM))
      kept.push(tick);
  }
  return kept;
}
