/** The state of the cluster screens in their addresses. */
import { rangeField } from "@/shared/chart/ranges";
import { flag, oneOf, searchShape, text, whole } from "@/shared/url/search";

export const ORDERS = ["-rate", "-lag", "-groups", "name"] as const;
export const COUNTS = ["10", "25", "50", "100"] as const;
export const KINDS = ["normal", "retry", "dlq", "system"] as const;

export const clusterSearch = searchShape({
  tab: oneOf(["map", "history", "settings"], "map"),
  view: oneOf(["map", "table"], "map"),
  search: text(),
  order: oneOf(ORDERS, "-rate"),
  kind: oneOf(KINDS, "normal"),
  count: oneOf(COUNTS, "10"),
  page: whole(1, 1, 100_000),
  /** A node of the map: `topic:orders`. */
  node: text(),
  range: rangeField(),
});

export const PROFILES = ["safe", "fast", "none"] as const;
export const ACCESS_STATES = ["administration", "on", "off"] as const;
export type AccessState = (typeof ACCESS_STATES)[number];
export const SEGMENTS = ["default", "mb256", "mb64", "mb16"] as const;

/** The whole draft: a link to a wizard that is filled in already can be sent to somebody. */
export const newClusterSearch = searchShape({
  way: oneOf(["create", "attach", "restore"], "create"),
  step: whole(1, 1, 4),
  name: text(),
  groups: whole(1, 1, 64),
  slaves: whole(1, 0, 8),
  servers: whole(1, 1, 9),
  profile: oneOf(PROFILES, "safe"),
  access: oneOf(ACCESS_STATES, "administration"),
  /** Names with commas between them; empty: any. */
  hosts: text(),
  share: flag(),
  approval: flag(),
  segment: oneOf(SEGMENTS, "default"),
  release: text("builtin"),
  labels: text(),
});
