import { describe, expect, it } from "vitest";
import { stepsOf } from "./member_steps";

const event = (second: number, member_count: number, joined: string[], left: string[] = []) => ({
  at: new Date(second * 1000).toISOString(),
  member_count,
  joined,
  left,
});

describe("members over time", () => {
  it("begin with who was there before the first event", () => {
    const steps = stepsOf([event(100, 3, ["c"]), event(200, 1, [], ["a", "b"])], 300_000);
    expect(steps?.most).toBe(3);
    expect(steps?.corners[0]).toEqual([0, 2 / 3]);
    expect(steps?.corners.at(-1)).toEqual([1, 1 / 3]);
    expect(steps?.ticks.map((tick) => tick.hasLeft)).toEqual([false, true]);
  });
  it("take events in any order and stay within the picture", () => {
    const steps = stepsOf([event(200, 1, []), event(100, 2, ["a"])], 150_000);
    expect(steps?.corners.every(([x, y]) => x >= 0 && x <= 1 && y >= 0 && y <= 1)).toBe(true);
  });
  it("are nothing without events", () => {
    expect(stepsOf([], 1)).toBeNull();
  });
});
