import { describe, expect, it } from "vitest";
import {
  behindOf,
  flappingOf,
  type GroupRow,
  holdersOf,
  type Member,
  paceOf,
  type QueueLag,
  rangesOf,
  slowestOf,
  versionName,
  wholeOf,
  withBehind,
} from "./group";

const AT = "2026-01-01T00:00:10Z";

function queue(number: number, lag: string | null, eta_s: number | null, never_clears = false): QueueLag {
  return {
    broker: "broker-a",
    queue: number,
    committed: "1",
    max: "2",
    lag,
    lag_s: null,
    eta_s,
    never_clears,
  };
}

describe("seconds behind", () => {
  it("are nothing where nothing is unread, and not known where that is not known", () => {
    expect(behindOf("0", null, AT)).toBe(0);
    expect(behindOf(null, null, AT)).toBeNull();
    expect(behindOf("7", null, AT)).toBeNull();
    expect(behindOf("7", "2026-01-01T00:00:04Z", null)).toBeNull();
  });
  it("are counted up to the sample, not up to now", () => {
    expect(behindOf("7", "2026-01-01T00:00:04Z", AT)).toBe(6);
  });
  it("leave rows alone that did not change", () => {
    const row = { name: "g", lag: "7", lag_s: 6, oldest_unread_at: "2026-01-01T00:00:04Z" } as GroupRow;
    expect(withBehind([row], AT)?.[0]).toBe(row);
    expect(withBehind([row], "2026-01-01T00:00:11Z")?.[0]?.lag_s).toBe(7);
    expect(withBehind(undefined, AT)).toBeUndefined();
  });
});

describe("pace", () => {
  it("is clear before it is never, and unknown is no number", () => {
    expect(paceOf({ lag: "0", eta_s: null, never_clears: true })).toBe("clear");
    expect(paceOf({ lag: "5", eta_s: null, never_clears: true })).toBe("never");
    expect(paceOf({ lag: "5", eta_s: null, never_clears: false })).toBe("unknown");
    expect(paceOf({ lag: "5", eta_s: 0.5, never_clears: false })).toBe(0.5);
  });
  it("is as slow as the slowest queue", () => {
    expect(slowestOf([queue(0, "5", 10), queue(1, "900", 20), queue(2, "0", null)])?.queue).toBe(1);
    expect(slowestOf([queue(0, "5", 10), queue(1, "1", null, true)])?.queue).toBe(1);
    expect(slowestOf([queue(0, "0", null), queue(1, null, null)])).toBeNull();
  });
});

describe("versions", () => {
  it("have the names of RocketMQ's releases", () => {
    expect([479, 413, 399, 412, 37].map(versionName)).toEqual([
      "5.3.3",
      "5.0.0",
      "4.9.3",
      "4.10.0-SNAPSHOT",
      "#37",
    ]);
  });
});

describe("queue assignment", () => {
  it("names every holder of a queue", () => {
    const held = (client_id: string, ...numbers: number[]) =>
      ({
        client_id,
        queues: numbers.map((number) => ({ topic: "t", broker: "b", queue: number })),
      }) as Member;
    const silent = { client_id: "silent", queues: null } as Member;
    const holders = holdersOf([held("one", 0, 1), held("two", 1), silent]);
    expect(holders.get("t\nb\n1")).toEqual(["one", "two"]);
    expect(holders.get("t\nb\n7")).toBeUndefined();
  });
  it("is written in ranges", () => {
    expect([rangesOf([3, 1, 2, 0, 7]), rangesOf([5]), rangesOf([]), rangesOf([0, 2])]).toEqual([
      "0–3, 7",
      "5",
      "",
      "0, 2",
    ]);
  });
});

describe("flapping", () => {
  const events = (...minutes: number[]) =>
    minutes.map((minute) => ({
      at: new Date(minute * 60_000).toISOString(),
      joined: [],
      left: [],
      member_count: 1,
    }));
  it("is many rebalances within ten minutes", () => {
    expect(flappingOf(events(1, 2, 3, 4, 5, 6, 90))).toBe(6);
  });
  it("is not many over a day", () => {
    expect(flappingOf(events(0, 60, 120, 180, 240, 300, 360))).toBeNull();
    expect(flappingOf([])).toBeNull();
  });
});

describe("whole numbers", () => {
  it("keep all their digits", () => {
    expect(wholeOf("9,223,372,036,854,775,807")).toBe("9223372036854775807");
    expect([wholeOf(" -5 "), wholeOf("+5"), wholeOf("1.5"), wholeOf(""), wholeOf("x")]).toEqual([
      "-5",
      "5",
      null,
      null,
      null,
    ]);
  });
});
