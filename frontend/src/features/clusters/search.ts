/** The state of the cluster screens in their addresses. */
import { rangeField } from "@/shared/chart/ranges";
import { oneOf, searchShape, text, whole } from "@/shared/url/search";

export const clusterSearch = searchShape({
  tab: oneOf(["map", "settings"], "map"),
  search: text(),
  page: whole(1, 1, 100_000),
  range: rangeField(),
});

export const newClusterSearch = searchShape({ step: whole(1, 1, 5) });
