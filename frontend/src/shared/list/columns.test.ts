import { expect, test } from "vitest";
import { type Column, columnsFor, leastWidth, nextOrder, orderOf } from "./columns";

const column = (key: string, values: Partial<Column<string>> = {}): Column<string> => ({
  key,
  title: key,
  render: (row) => row,
  ...values,
});
const COLUMNS = [
  column("name"),
  column("lag", { width: 120, sort: "lag", largestFirst: true }),
  column("groups", { width: 100, from: 300 }),
  column("owner", { width: 100, from: 300 }),
];
const keys = (width: number) => columnsFor(COLUMNS, width).map((each) => each.key);

test("columns that do not fit are left out, the last of them first", () => {
  expect(keys(1000)).toEqual(["name", "lag", "groups", "owner"]);
  expect(keys(420)).toEqual(["name", "lag", "groups"]);
  expect(keys(250)).toEqual(["name", "lag"]);
});

test("a table is never narrower than its columns", () => {
  expect(leastWidth(COLUMNS)).toBe(180 + 120 + 100 + 100);
});

test("a click sorts, the next one turns it round", () => {
  const lag = COLUMNS[1] as Column<string>;
  expect(nextOrder(lag, "name")).toBe("-lag");
  expect(nextOrder(lag, "-lag")).toBe("lag");
  expect(nextOrder(lag, "lag")).toBe("-lag");
  expect(orderOf(lag, "-lag")).toBe("descending");
  expect(orderOf(lag, "name")).toBe("none");
});
