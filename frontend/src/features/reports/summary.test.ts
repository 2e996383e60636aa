import { describe, expect, it } from "vitest";
import { linesOf, progressOf, readable, summaryOf } from "./summary";

const chart = {
  name: "bytes_per_hour",
  kind: "line",
  x: { label: "hour", values: ["2026-11-16T10:00:00+00:00", "2026-11-16T11:00:00+00:00"] },
  series: [{ label: "orders", values: ["9007199254740993", null] }],
};

describe("a summary", () => {
  it("keeps figures beyond 2^53 as they were written", () => {
    const summary = summaryOf({
      figures: { messages: "9223372036854775807", oldest: null },
      charts: [chart],
    });
    expect(summary?.figures).toEqual([
      ["messages", "9223372036854775807"],
      ["oldest", null],
    ]);
    expect(summary?.charts[0]?.series[0]?.values).toEqual(["9007199254740993", null]);
  });

  it("is nothing where a run has none, and leaves out what is no chart", () => {
    expect(summaryOf(null)).toBeNull();
    expect(summaryOf({ charts: ["x", { kind: "bar" }], unknown: ["a", 1] })).toEqual({
      figures: [],
      charts: [],
      unknown: ["a"],
      warnings: [],
    });
  });

  it("draws moments over time, with gaps, and other things as bars", () => {
    const [made] = summaryOf({ charts: [chart] })?.charts ?? [];
    const lines = made && linesOf(made);
    expect(lines?.[0]?.points.map((point) => point.value)).toEqual(["9007199254740993", null]);
    expect(made && linesOf({ ...made, x: { label: "topic", values: ["a", "b"] } })).toBeNull();
    expect(made && linesOf({ ...made, kind: "bar" })).toBeNull();
  });
});

describe("progress", () => {
  it("is unknown before Spark says anything", () => {
    expect(progressOf({})).toEqual({ phase: null, stages: null, tasks: null, rows: null, share: null });
  });

  it("is the share of tasks", () => {
    const told = {
      phase: "reading",
      stages_done: 1,
      stages_total: 4,
      tasks_done: 5,
      tasks_total: 20,
      rows: "7",
    };
    expect(progressOf(told)).toEqual({
      phase: "reading",
      stages: [1, 4],
      tasks: [5, 20],
      rows: "7",
      share: 0.25,
    });
  });
});

it("names are read as words", () => expect(readable("oldest_message_kept")).toBe("oldest message kept"));
