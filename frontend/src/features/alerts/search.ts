/** The state of the alert screen in its address. */
import { oneOf, searchShape, whole } from "@/shared/url/search";

export const TABS = ["open", "history", "rules", "silences", "channels", "deliveries"] as const;

export const alertsSearch = searchShape({
  tab: oneOf(TABS, "open"),
  page: whole(1, 1, 1_000_000),
  size: whole(100, 50, 500),
});
