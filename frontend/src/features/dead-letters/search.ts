/** The state of the dead-letter screens in their addresses. */
import { listShape, oneOf, optional, searchShape, text } from "@/shared/url/search";

export const deadLettersSearch = searchShape(
  listShape(["group", "messages", "put_rate", "last_write_at"], "-messages"),
);

export const OUTCOMES = ["sent", "refused", "unsure", "came_back", "skipped"] as const;

export const deadLetterGroupSearch = searchShape({
  tab: oneOf(["messages", "reasons", "redrives"], "messages"),
  key: text(),
  tag: text(),
  body: text(),
  sql: text(),
  begin: text(),
  end: text(),
  /** The letter whose details are open. */
  letter: text(),
  redrive: text(),
  outcome: optional(OUTCOMES),
});
