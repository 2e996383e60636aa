import { expect, test } from "vitest";
import { align } from "./series_data";

test("series share one axis; what is not there is a gap", () => {
  const [axis, first, second] = align(
    [
      {
        label: "a",
        points: [
          { at: 10, value: 1 },
          { at: 20, value: null },
          { at: 30, value: "3" },
        ],
      },
      { label: "b", points: [{ at: 20, value: 5 }] },
    ],
    10,
  );
  expect(axis).toEqual([10, 20, 30]);
  expect(first).toEqual([1, null, 3]);
  expect(second).toEqual([null, 5, null]);
});

test("a hole longer than a slot is no straight line", () => {
  const [axis, values] = align(
    [
      {
        label: "a",
        points: [
          { at: 10, value: 1 },
          { at: 50, value: 2 },
        ],
      },
    ],
    10,
  );
  expect(axis).toEqual([10, 20, 50]);
  expect(values).toEqual([1, null, 2]);
});
