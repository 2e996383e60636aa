/** What a search asks the API for, from the address; and what of it a job would take over. Pure. */
import type { SearchOf } from "@/shared/url/search";
import type { messagesSearch } from "./search";

export type MessagesSearch = SearchOf<typeof messagesSearch>;

export const PAGE = 50;
const SECONDS = 5;

export interface FindQuery {
  topic: string;
  key?: string;
  unique_key?: string;
  tag?: string;
  property?: string;
  body?: string;
  sql?: string;
  begin?: string;
  end?: string;
  order?: "newest" | "oldest";
  limit?: number;
  max_scan?: number;
  max_seconds?: number;
}

/** Null: there is nothing to ask yet. */
export function findQuery(search: MessagesSearch): FindQuery | null {
  const { topic } = search;
  if (topic === "") return null;
  switch (search.by) {
    case "unique_key":
      return search.unique_key === "" ? null : { topic, unique_key: search.unique_key };
    case "key":
      return search.key === "" ? null : { topic, key: search.key, ...times(search) };
    case "offset_id":
      return null;
    case "look":
      return {
        topic,
        ...filtersOf(search),
        order: search.order,
        limit: PAGE,
        max_scan: search.budget,
        max_seconds: SECONDS,
      };
  }
}

/** Filters that a search job has too. */
export function filtersOf(search: MessagesSearch): Partial<FindQuery> {
  const { key, tag, property, body, sql } = search;
  const given = { key, tag, property, body, sql, begin: search.begin, end: search.end };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
}

function times(search: MessagesSearch): Partial<FindQuery> {
  return { ...(search.begin && { begin: search.begin }), ...(search.end && { end: search.end }) };
}

export const NO_FILTERS = { key: "", tag: "", property: "", body: "", sql: "", begin: "", end: "" } as const;

export function isFiltered(search: MessagesSearch): boolean {
  return Object.keys(filtersOf(search)).length > 0;
}
