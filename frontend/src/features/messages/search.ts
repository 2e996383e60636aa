/** The state of the message screens in their addresses. */
import { oneOf, searchShape, text, whole } from "@/shared/url/search";

export const TABS = ["search", "queue", "tail", "jobs", "send"] as const;
export type Tab = (typeof TABS)[number];
/** How messages are looked for: through all within a budget, by an index, or where they lie. */
export const WAYS = ["look", "key", "unique_key", "offset_id"] as const;
export type Way = (typeof WAYS)[number];
export const BUDGETS = [1_000, 10_000, 100_000] as const;

export const messagesSearch = searchShape({
  tab: oneOf(TABS, "search"),
  by: oneOf(WAYS, "look"),
  topic: text(),
  key: text(),
  unique_key: text(),
  tag: text(),
  property: text(),
  body: text(),
  sql: text(),
  begin: text(),
  end: text(),
  order: oneOf(["newest", "oldest"], "newest"),
  budget: whole(10_000, 1_000, 100_000),
  broker: text(),
  queue: text(),
  offset: text(),
  back: oneOf(["", "1"], ""),
  job: text(),
});

export const messageSearch = searchShape({
  topic: text(),
  tab: oneOf(["body", "properties", "trace"], "body"),
});
