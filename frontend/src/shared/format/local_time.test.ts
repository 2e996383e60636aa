import { expect, it } from "vitest";
import { fromLocal, toLocal } from "./local_time";

it("goes there and back to the second", () => {
  const at = "2026-11-16T17:43:09Z";
  expect(fromLocal(toLocal(at))).toBe(at);
});

it("takes what is no moment for none", () => {
  expect(toLocal("yesterday")).toBe("");
  expect(fromLocal("")).toBe("");
});
