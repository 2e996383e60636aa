/** The state of the topic screens in their addresses. Orders are the API's words. */
import { rangeField } from "@/shared/chart/ranges";
import { flag, listShape, oneOf, pageQuery, type SearchOf, searchShape, text } from "@/shared/url/search";

export const TOPIC_KINDS = ["normal", "retry", "dlq", "system"] as const;
export type TopicKind = (typeof TOPIC_KINDS)[number];

export const topicsSearch = searchShape({
  ...listShape(["name", "rate", "lag", "messages", "last_write", "groups"], "name"),
  // Retries, dead letters and the brokers' own are there when they are asked for.
  kind: oneOf(["all", ...TOPIC_KINDS], "normal"),
  favourites: flag(),
  owner: text(),
  team: text(),
});

/** What the list asks the API for. */
export function topicsQuery(search: SearchOf<typeof topicsSearch>) {
  const { kind, sort, favourites, owner, team } = search;
  return {
    ...pageQuery(search),
    search: search.search,
    ordering: sort,
    kind: kind === "all" ? undefined : [kind],
    favourites: favourites || undefined,
    owner,
    team,
  };
}

export const TOPIC_TABS = ["overview", "queues", "groups", "producers", "config"] as const;
export type TopicTab = (typeof TOPIC_TABS)[number];

export const topicSearch = searchShape({
  tab: oneOf(TOPIC_TABS, "overview"),
  range: rangeField(),
});
