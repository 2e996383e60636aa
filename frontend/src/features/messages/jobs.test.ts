import { expect, it } from "vitest";
import { canContinue, shareOf } from "./jobs";

it("counts progress of numbers beyond 2^53", () => {
  expect(shareOf({ scanned: "4611686018427387904", estimate: "9223372036854775807", stopped: "" })).toBe(0.5);
  expect(shareOf({ scanned: "0", estimate: "0", stopped: "" })).toBe(1);
  expect(shareOf({ scanned: "5", estimate: null, stopped: "" })).toBeNull();
  expect(shareOf({ scanned: "7", estimate: "9", stopped: "end" })).toBe(1);
});

it("goes on with what stopped before its end, and with nothing else", () => {
  expect(canContinue({ state: "done", stopped: "max_scan" })).toBe(true);
  expect(canContinue({ state: "cancelled", stopped: "" })).toBe(true);
  expect(canContinue({ state: "done", stopped: "end" })).toBe(false);
  expect(canContinue({ state: "running", stopped: "" })).toBe(false);
});
