import { expect, test } from "vitest";
import { mergeList, mergeRows } from "./messages";

test("rows that did not change stay the same objects", () => {
  const rows = { a: { lag: "1" }, b: { lag: "2" } };
  const merged = mergeRows(rows, { a: { lag: "3" } });
  expect(merged.b).toBe(rows.b);
  expect(mergeRows(rows, {})).toBe(rows);
});

test("a list takes what is newer of its own fields alone", () => {
  const list = [
    { name: "a", lag: "1", owner: "ann" },
    { name: "b", lag: "2", owner: "" },
  ];
  const merged = mergeList(list, { a: { lag: "9", eta_s: 4 }, c: { lag: "1" } }, (row) => row.name);
  expect(merged[0]).toEqual({ name: "a", lag: "9", owner: "ann" });
  expect(merged[1]).toBe(list[1]);
  expect(mergeList(list, { a: { lag: "1" } }, (row) => row.name)).toBe(list);
});
