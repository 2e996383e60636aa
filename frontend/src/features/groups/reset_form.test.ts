import { describe, expect, it } from "vitest";
import { NO_RESET, type Place, resetOf } from "./reset_form";

const PLACES: Place[] = [0, 1].map((queue) => ({ topic: "t", broker: "b", queue, committed: "5", max: "9" }));

describe("a reset", () => {
  it("to an end names only chosen topics", () => {
    expect(resetOf(NO_RESET, PLACES)).toEqual({ to: "earliest" });
    expect(resetOf({ ...NO_RESET, to: "latest", topics: ["t"] }, PLACES)).toEqual({
      to: "latest",
      topics: ["t"],
    });
  });
  it("to a moment is sent in UTC", () => {
    const asked = resetOf({ ...NO_RESET, to: "time", at: "2026-01-01T10:00:00" }, PLACES);
    expect(asked?.at).toBe(new Date("2026-01-01T10:00:00").toISOString());
    expect(resetOf({ ...NO_RESET, to: "time" }, PLACES)).toBeNull();
  });
  it("by a number keeps 64 bits and is no step of none", () => {
    expect(resetOf({ ...NO_RESET, to: "shift", by: "-9007199254740993" }, PLACES)?.by).toBe(
      "-9007199254740993",
    );
    expect(resetOf({ ...NO_RESET, to: "shift", by: "0" }, PLACES)).toBeNull();
    expect(resetOf({ ...NO_RESET, to: "shift", by: "two" }, PLACES)).toBeNull();
  });
  it("to exact offsets names the queues that were filled in", () => {
    const offsets = { "t\nb\n1": " 7 " };
    expect(resetOf({ ...NO_RESET, to: "exact", offsets }, PLACES)).toEqual({
      to: "exact",
      queues: [{ topic: "t", broker: "b", queue: 1, offset: "7" }],
    });
    expect(resetOf({ ...NO_RESET, to: "exact" }, PLACES)).toBeNull();
    expect(resetOf({ ...NO_RESET, to: "exact", offsets: { "t\nb\n1": "-1" } }, PLACES)).toBeNull();
  });
  it("beside another group needs its name", () => {
    expect(resetOf({ ...NO_RESET, to: "copy", source: " billing " }, PLACES)).toEqual({
      to: "copy",
      source_group: "billing",
    });
    expect(resetOf({ ...NO_RESET, to: "copy" }, PLACES)).toBeNull();
  });
});
