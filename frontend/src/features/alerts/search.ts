/** The state of the alert screen in its address. */
import { listShape, oneOf, optional, searchShape } from "@/shared/url/search";

export const alertsSearch = searchShape({
  ...listShape(["fired_at"], "-fired_at"),
  tab: oneOf(["open", "rules", "channels", "silences", "deliveries"], "open"),
  state: optional(["pending", "firing", "resolved"]),
});
