/** Points of several series on one axis of time, with gaps where nothing was heard. Pure. */
export interface Point {
  /** Seconds since 1970. */
  at: number;
  value: number | string | null;
}

export interface Line {
  label: string;
  points: readonly Point[];
}

/** Seconds, then the values of each series; null is a gap. */
export type Aligned = [number[], ...(number | null)[][]];

/** Longer than this many slots without a point is a gap, not a straight line. */
const MISSED_SLOTS = 1.5;

export function align(lines: readonly Line[], resolutionS: number): Aligned {
  const times = new Set<number>();
  for (const line of lines) for (const point of line.points) times.add(point.at);
  const sorted = [...times].sort((a, b) => a - b);
  const axis = resolutionS > 0 ? withGaps(sorted, resolutionS) : sorted;
  return [axis, ...lines.map((line) => valuesOn(axis, line.points))];
}

/** The last moment of which anything is known: history is stored a minute at a time, its end is always open. */
export function lastKnown([axis, ...series]: Aligned): number {
  for (let index = axis.length - 1; index > 0; index--)
    if (series.some((values) => values[index] !== null)) return index;
  return 0;
}

/** A moment without any value in the middle of each hole. */
function withGaps(times: number[], resolutionS: number): number[] {
  const axis: number[] = [];
  times.forEach((at, number) => {
    const before = times[number - 1];
    if (before !== undefined && at - before > resolutionS * MISSED_SLOTS) axis.push(before + resolutionS);
    axis.push(at);
  });
  return axis;
}

function valuesOn(axis: number[], points: readonly Point[]): (number | null)[] {
  const values = new Map(points.map((point) => [point.at, point.value]));
  return axis.map((at) => {
    const value = values.get(at);
    // A chart is a picture: rounding beyond 2**53 is less than a pixel.
    return value === undefined || value === null ? null : Number(value);
  });
}
