import { describe, expect, it } from "vitest";
import { filtersOf, findQuery } from "./find";
import { messagesSearch } from "./search";

const search = (values: Record<string, string>) => messagesSearch.full(messagesSearch(values as never));

describe("what a search asks for", () => {
  it("is nothing without a topic, or without what is looked for", () => {
    expect(findQuery(search({}))).toBeNull();
    expect(findQuery(search({ topic: "t", by: "key" }))).toBeNull();
    expect(findQuery(search({ topic: "t", by: "offset_id" }))).toBeNull();
  });

  it("asks the index by key, without the filters of other ways", () => {
    expect(findQuery(search({ topic: "t", by: "key", key: "k", tag: "x" }))).toEqual({
      topic: "t",
      key: "k",
    });
  });

  it("looks through with all filters and a stated budget", () => {
    const query = findQuery(search({ topic: "t", tag: "a", sql: "n > 1", budget: "1000", order: "oldest" }));
    expect(query).toMatchObject({ topic: "t", tag: "a", sql: "n > 1", max_scan: 1000, order: "oldest" });
  });

  it("gives jobs the filters that are set", () => {
    expect(filtersOf(search({ topic: "t", body: "<b>", begin: "2026-01-01T00:00:00Z" }))).toEqual({
      body: "<b>",
      begin: "2026-01-01T00:00:00Z",
    });
  });
});
