/** The state of the group screens in their addresses. */
import { rangeField } from "@/shared/chart/ranges";
import { flag, listShape, oneOf, optional, searchShape, text } from "@/shared/url/search";

export const groupsSearch = searchShape({
  ...listShape(["name", "lag", "lag_s", "consume_rate", "member_count"], "-lag"),
  members: optional(["true", "false"]),
  system: flag(),
  favourites: flag(),
  owner: text(),
  team: text(),
});

export const groupSearch = searchShape({
  tab: oneOf(["lag", "members", "rebalances", "resets", "diagnosis", "config"], "lag"),
  range: rangeField(),
});
