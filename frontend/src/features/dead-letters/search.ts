/** The state of the dead-letter screens in their addresses. */
import { listShape, oneOf, searchShape, text } from "@/shared/url/search";

export const deadLettersSearch = searchShape(listShape(["group", "messages"], "-messages"));

export const deadLetterGroupSearch = searchShape({
  tab: oneOf(["messages", "reasons", "redrives"], "messages"),
  key: text(),
  tag: text(),
  body: text(),
  begin: text(),
  end: text(),
});
