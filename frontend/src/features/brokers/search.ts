/** The state of the broker screens in their addresses. */
import { rangeField } from "@/shared/chart/ranges";
import { oneOf, searchShape, text } from "@/shared/url/search";

export const SHOWN = ["drifted", "different", "settable", "all"] as const;

export const brokersSearch = searchShape({
  tab: oneOf(["members", "config"], "members"),
  search: text(),
  show: oneOf(SHOWN, "all"),
});

export const brokerSearch = searchShape({
  tab: oneOf(["runtime", "replication", "config", "log"], "runtime"),
  search: text(),
  show: oneOf(SHOWN, "all"),
  range: rangeField(),
  kind: oneOf(["log", "out"], "log"),
  lines: oneOf(["100", "200", "500", "2000"], "200"),
});
