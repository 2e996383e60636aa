/** The state of the broker screens in their addresses. */
import { oneOf, searchShape, text } from "@/shared/url/search";

export const brokersSearch = searchShape({ tab: oneOf(["members", "config"], "members"), search: text() });

export const brokerSearch = searchShape({
  tab: oneOf(["runtime", "config", "log"], "runtime"),
  search: text(),
});
