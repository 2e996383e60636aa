/** The state of the message screens in their addresses. */
import { oneOf, searchShape, text, whole } from "@/shared/url/search";

export const messagesSearch = searchShape({
  tab: oneOf(["search", "queue", "tail", "jobs", "send"], "search"),
  topic: text(),
  key: text(),
  unique_key: text(),
  tag: text(),
  property: text(),
  body: text(),
  begin: text(),
  end: text(),
  order: oneOf(["newest", "oldest"], "newest"),
  broker: text(),
  queue: text(),
  offset: text(),
  limit: whole(50, 1, 500),
  job: text(),
});

export const messageSearch = searchShape({
  topic: text(),
  tab: oneOf(["body", "properties", "trace"], "body"),
});
