/** How charts look: thin lines in the colours of the theme, few grid lines, no ornaments. */
import type uPlot from "uplot";
import { timeFormat } from "@/shared/format/formatters";

/** Colours of series, by their order. */
export const TONES = ["--sb-accent", "--sb-info", "--sb-warn", "--sb-bad", "--sb-ok", "--sb-quiet"] as const;

interface Wanted {
  labels: string[];
  width: number;
  height: number;
  locale: string;
  range: [number | undefined, number | undefined];
  on: () => {
    onZoom?: (from: number, to: number) => void;
    onPoint: (at: number | null) => void;
    format: (value: number) => string;
  };
}

export function optionsOf(wanted: Wanted, host: Element): uPlot.Options {
  const style = getComputedStyle(host);
  const colour = (name: string) => style.getPropertyValue(name).trim() || "#888";
  const [from, to] = wanted.range;
  const axis = { stroke: colour("--mantine-color-dimmed"), font: `11px ${style.fontFamily}` };
  const lines = { stroke: colour("--sb-line"), width: 1 };
  return {
    width: wanted.width,
    height: wanted.height,
    legend: { show: false },
    cursor: {
      sync: { key: "page" },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
    },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: true, ...(from !== undefined && to !== undefined ? { range: [from, to] } : {}) },
      y: { range: (_plot, least, most) => yRange(least, most) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ticks: lines,
        size: 26,
        values: (_plot, times) => timeLabels(times, wanted.locale),
      },
      {
        ...axis,
        grid: lines,
        ticks: { show: false },
        size: 64,
        gap: 6,
        values: (_plot, values) => values.map((value) => wanted.on().format(value)),
      },
    ],
    series: [
      {},
      ...wanted.labels.map((label, number) => line(label, colour(TONES[number % TONES.length] ?? TONES[0]))),
    ],
    hooks: {
      setCursor: [(plot) => wanted.on().onPoint(plot.cursor.idx ?? null)],
      setSelect: [(plot) => zoom(plot, wanted)],
    },
  };
}

/** From zero, so that a small wobble does not look like an outage. */
function yRange(least: number | null, most: number | null): [number, number] {
  const bottom = Math.min(0, least ?? 0);
  return [bottom, most === null || most <= bottom ? bottom + 1 : most + (most - bottom) * 0.08];
}

function line(label: string, stroke: string): uPlot.Series {
  return { label, stroke, width: 1.6, fill: `${stroke}14`, spanGaps: false, points: { show: false } };
}

function zoom(plot: uPlot, wanted: Wanted) {
  if (plot.select.width < 4) return;
  const from = plot.posToVal(plot.select.left, "x");
  const to = plot.posToVal(plot.select.left + plot.select.width, "x");
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  wanted.on().onZoom?.(Math.floor(from), Math.ceil(to));
}

function timeLabels(times: number[], locale: string): string[] {
  const [first = 0, last = 0] = [times[0], times[times.length - 1]];
  const isLong = last - first > 86_400 * 1.5;
  const format = timeFormat(
    locale,
    isLong ? { month: "2-digit", day: "2-digit" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  return times.map((at) => format.format(at * 1000));
}
