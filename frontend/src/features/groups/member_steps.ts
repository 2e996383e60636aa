/** Members over time as steps of a picture, from the events that changed them. Pure. */
import type { Rebalance } from "./group";

export interface Tick {
  /** 0 to 1 from the oldest event to now. */
  x: number;
  hasLeft: boolean;
}

export interface Steps {
  from: number;
  most: number;
  /** Corners of the line, x and y from 0 to 1; y 1 is the largest number. */
  corners: [x: number, y: number][];
  ticks: Tick[];
}

/** Null without events. Before the oldest one as many were there as it says, less who joined, plus who left. */
export function stepsOf(events: readonly Rebalance[], now: number): Steps | null {
  const sorted = [...events].sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
  const [first] = sorted;
  if (!first) return null;
  const margin = Math.max(1_000, (now - Date.parse(first.at)) * 0.04);
  const from = Date.parse(first.at) - margin;
  const width = Math.max(1, now - from);
  const before = Math.max(0, first.member_count - first.joined.length + first.left.length);
  const most = Math.max(1, before, ...sorted.map((event) => event.member_count));
  const corners: [number, number][] = [[0, before / most]];
  const ticks: Tick[] = [];
  let height = before / most;
  for (const event of sorted) {
    const x = Math.min(1, (Date.parse(event.at) - from) / width);
    corners.push([x, height]);
    height = event.member_count / most;
    corners.push([x, height]);
    ticks.push({ x, hasLeft: event.left.length > 0 });
  }
  corners.push([1, height]);
  return { from, most, corners, ticks };
}
