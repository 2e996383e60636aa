import { expect, test } from "vitest";
import { align, lastKnown } from "./series_data";

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

test("the latest is the last moment that any series knows of", () => {
  expect(
    lastKnown([
      [10, 20, 30, 40],
      [1, null, null, null],
      [null, 2, 3, null],
    ]),
  ).toBe(2);
  expect(
    lastKnown([
      [10, 20],
      [null, null],
    ]),
  ).toBe(0);
  expect(lastKnown([[], []])).toBe(0);
});
