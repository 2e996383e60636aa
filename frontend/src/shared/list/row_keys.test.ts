import { expect, test } from "vitest";
import { nextRow } from "./row_keys";
import { allToggled, toggled } from "./selection";

test("keys stay inside of the list", () => {
  expect(nextRow("ArrowDown", 0, 3)).toBe(1);
  expect(nextRow("ArrowDown", 2, 3)).toBe(2);
  expect(nextRow("PageUp", 3, 100)).toBe(0);
  expect(nextRow("End", 0, 100)).toBe(99);
  expect(nextRow("a", 0, 3)).toBeNull();
  expect(nextRow("ArrowDown", 0, 0)).toBeNull();
});

test("a page is selected whole, or not at all", () => {
  const all = allToggled(new Set(["x", "a"]), ["a", "b"]);
  expect([...all].sort()).toEqual(["a", "b", "x"]);
  expect([...allToggled(all, ["a", "b"])]).toEqual(["x"]);
  expect([...toggled(all, "a")].sort()).toEqual(["b", "x"]);
});
