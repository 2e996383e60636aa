/** The state of the group screens in their addresses. Orders are the API's words. */
import { rangeField } from "@/shared/chart/ranges";
import { flag, listShape, oneOf, pageQuery, type SearchOf, searchShape, text } from "@/shared/url/search";

export const groupsSearch = searchShape({
  ...listShape(["name", "lag", "seconds", "rate", "eta", "members", "topics"], "-lag"),
  members: oneOf(["any", "online", "offline"], "any"),
  system: flag(),
  favourites: flag(),
  owner: text(),
  team: text(),
});

/** What the list asks the API for. */
export function groupsQuery(search: SearchOf<typeof groupsSearch>) {
  const { members, system, favourites, owner, team } = search;
  return {
    ...pageQuery(search),
    search: search.search,
    ordering: search.sort,
    has_members: members === "any" ? undefined : members === "online",
    system: system || undefined,
    favourites: favourites || undefined,
    owner,
    team,
  };
}

export const GROUP_TABS = [
  "overview",
  "queues",
  "members",
  "rebalances",
  "resets",
  "diagnosis",
  "config",
] as const;

export const groupSearch = searchShape({
  tab: oneOf(GROUP_TABS, "overview"),
  range: rangeField(),
  /** Of the queues: one topic of the group. */
  topic: text(),
});
