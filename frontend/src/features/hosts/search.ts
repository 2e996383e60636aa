/** The state of the hosts screen in its address. */
import { flag, listShape, searchShape, text } from "@/shared/url/search";

export const hostsSearch = searchShape({
  ...listShape(["name", "joined_at", "heartbeat_at"], "name"),
  host: text(),
  join: flag(),
});
