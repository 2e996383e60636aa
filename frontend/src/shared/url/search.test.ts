import { expect, test } from "vitest";
import {
  flag,
  listShape,
  oneOf,
  optional,
  pageQuery,
  parseAddress,
  searchShape,
  text,
  whole,
  writeAddress,
} from "./search";

const shape = searchShape({
  ...listShape(["name", "lag"], "-lag"),
  kind: optional(["normal", "retry"]),
  mine: flag(),
  tab: oneOf(["a", "b"], "a"),
  key: text(),
  limit: whole(50, 1, 500),
});
const read = (address: string) => shape.full(shape(parseAddress(address) as never));

test("what stands in the address is read, what does not is meant", () => {
  expect(read("?search=ord&sort=name&page=3&kind=retry&mine=true&key=007&limit=10")).toEqual({
    search: "ord",
    sort: "name",
    page: 3,
    size: 100,
    kind: "retry",
    mine: true,
    tab: "a",
    key: "007",
    limit: 10,
  });
});

test("nonsense is replaced by what is meant, never an error", () => {
  expect(read("?sort=drop+table&page=-3&kind=x&tab=c&limit=9999&size=7&mine=maybe")).toMatchObject({
    sort: "-lag",
    page: 1,
    kind: null,
    tab: "a",
    limit: 500,
    size: 100,
    mine: false,
  });
});

test("what is meant anyway does not stand in the address", () => {
  expect(writeAddress(shape({ page: 1, sort: "-lag", search: "", key: "a b&c", mine: false } as never))).toBe(
    "?key=a+b%26c",
  );
  expect(writeAddress({})).toBe("");
});

test("a key that looks like a number stays a text", () => {
  expect(parseAddress("?key=0012&id=1e5&x=1&x=2")).toEqual({ key: "0012", id: "1e5", x: ["1", "2"] });
});

test("pages become limit and offset", () => {
  expect(pageQuery({ page: 3, size: 100 })).toEqual({ limit: 100, offset: 200 });
});
