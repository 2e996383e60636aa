/** The state of the fleet in its address. */
import { oneOf, optional, searchShape, text } from "@/shared/url/search";

export const fleetSearch = searchShape({
  search: text(),
  health: optional(["ok", "degraded", "down", "unknown"]),
  sort: oneOf(
    [
      "name",
      "-name",
      "health",
      "-health",
      "put_rate",
      "-put_rate",
      "got_rate",
      "-got_rate",
      "lag",
      "-lag",
      "disk_ratio",
      "-disk_ratio",
    ],
    "name",
  ),
});
