import { describe, expect, it } from "vitest";
import { timelineOf, type TraceEvent } from "./trace";

const event = (
  kind: TraceEvent["kind"],
  at: string,
  took_ms: number | null = null,
  group: string | null = null,
): TraceEvent => ({
  kind,
  at: `2026-11-16T10:00:${at}Z`,
  took_ms,
  group,
  is_ok: true,
  text: "",
  attempt: null,
  code: null,
  host: null,
});

describe("the timeline of a trace", () => {
  const story = [
    event("send", "00.000", 4, "shop"),
    event("store", "00.003"),
    event("wait", "00.003", 2, "billing"),
    event("try", "00.005", 10, "billing"),
    event("try", "50.000", 5, "billing"),
    event("try", "00.006", 1, "audit"),
  ];

  it("has a lane for the producer, the broker and each group, in that order", () => {
    const { lanes } = timelineOf(story);
    expect(lanes.map((lane) => [lane.kind, lane.group, lane.bars.length])).toEqual([
      ["producer", null, 1],
      ["broker", null, 1],
      ["group", "audit", 1],
      ["group", "billing", 3],
    ]);
  });

  it("keeps the order of moments and draws milliseconds beside minutes", () => {
    const bars = timelineOf(story).lanes.flatMap((lane) => lane.bars);
    for (const one of bars) {
      expect(one.from).toBeGreaterThanOrEqual(0);
      expect(one.to).toBeLessThanOrEqual(1);
      if (one.event.took_ms) expect(one.to - one.from).toBeGreaterThan(0.02);
    }
    for (const one of bars) {
      for (const other of bars) {
        if (Date.parse(one.event.at ?? "") < Date.parse(other.event.at ?? ""))
          expect(one.from).toBeLessThan(other.from);
      }
    }
  });

  it("labels its ends", () => {
    const { ticks } = timelineOf(story);
    expect(ticks[0]).toEqual({ at: 0, sinceMs: 0 });
    expect(ticks[ticks.length - 1]).toEqual({ at: 1, sinceMs: 50_005 });
  });

  it("is empty of nothing, and has room for one moment", () => {
    expect(timelineOf([])).toEqual({ lanes: [], ticks: [] });
    expect(timelineOf([event("store", "01.000")]).lanes[0]?.bars[0]).toMatchObject({ from: 0, to: 0 });
    expect(timelineOf([{ ...event("try", "01.000"), at: null }]).lanes).toEqual([]);
  });
});
