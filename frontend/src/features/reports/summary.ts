/** What a job wrote about its results: figures, charts, what is unknown. Pure; anything odd in it is left out. */
import type { Line } from "@/shared/chart/series_data";

export interface Chart {
  name: string;
  kind: "line" | "bar";
  x: { label: string; values: (string | null)[] };
  series: { label: string; values: (string | null)[] }[];
}

export interface Summary {
  figures: [name: string, value: string | null][];
  charts: Chart[];
  unknown: string[];
  warnings: string[];
}

export interface Progress {
  phase: string | null;
  stages: [done: number, total: number] | null;
  tasks: [done: number, total: number] | null;
  rows: string | null;
  /** 0 to 1; null: not known yet. */
  share: number | null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
const valueOf = (value: unknown): string | null =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : null;

export function summaryOf(value: unknown): Summary | null {
  if (!isObject(value)) return null;
  const figures = isObject(value.figures) ? Object.entries(value.figures) : [];
  return {
    figures: figures.map(([name, figure]) => [name, valueOf(figure)]),
    charts: Array.isArray(value.charts) ? value.charts.map(chartOf).filter((chart) => chart !== null) : [],
    unknown: textsIn(value.unknown),
    warnings: textsIn(value.warnings),
  };
}

function chartOf(value: unknown): Chart | null {
  if (!isObject(value) || !isObject(value.x) || !Array.isArray(value.series)) return null;
  return {
    name: valueOf(value.name) ?? "",
    kind: value.kind === "bar" ? "bar" : "line",
    x: { label: valueOf(value.x.label) ?? "", values: listOf(value.x.values) },
    series: value.series
      .filter(isObject)
      .map((one) => ({ label: valueOf(one.label) ?? "", values: listOf(one.values) })),
  };
}

const listOf = (value: unknown) => (Array.isArray(value) ? value.map(valueOf) : []);

/** Lines over time, where x is moments or days; null where it is something else. */
export function linesOf(chart: Chart): Line[] | null {
  const times = chart.x.values.map((at) => (at === null ? NaN : Date.parse(at) / 1000));
  const isTime = chart.x.values.every((at) => at !== null && /^\d{4}-\d{2}-\d{2}/.test(at));
  if (chart.kind !== "line" || times.length < 2 || !isTime || times.some(Number.isNaN)) return null;
  return chart.series.map(({ label, values }) => ({
    label,
    points: times.map((at, number) => ({ at, value: values[number] ?? null })),
  }));
}

/** `oldest_message` is how jobs name it; people read "oldest message". */
export function readable(name: string): string {
  return name.replaceAll("_", " ");
}

export function progressOf(value: unknown): Progress {
  const told = isObject(value) ? value : {};
  const pair = (name: string): [number, number] | null => {
    const done = told[`${name}_done`];
    const total = told[`${name}_total`];
    return typeof done === "number" && typeof total === "number" && total > 0 ? [done, total] : null;
  };
  const stages = pair("stages");
  const tasks = pair("tasks");
  const [done, total] = tasks ?? stages ?? [0, 0];
  return {
    phase: typeof told.phase === "string" ? told.phase : null,
    stages,
    tasks,
    rows: valueOf(told.rows),
    share: total > 0 ? Math.min(1, done / total) : null,
  };
}
