import { expect, it } from "vitest";
import { filtersOf, isFiltered } from "./filters";
import { auditSearch } from "./search";

const search = (values: Record<string, string>) => auditSearch.full(auditSearch(values as never));

it("asks for what is set and nothing else", () => {
  expect(filtersOf(search({ actor: "ann", ok: "false", page: "3" }))).toEqual({ actor: "ann", is_ok: false });
  expect(filtersOf(search({ ok: "perhaps" }))).toEqual({});
  expect(isFiltered(search({ entry: "7" }))).toBe(false);
});
