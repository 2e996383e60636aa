/** The state of the access-control screen in its address. */
import { oneOf, searchShape, text } from "@/shared/url/search";

export const aclSearch = searchShape({
  tab: oneOf(["users", "explain"], "users"),
  search: text(),
  user: text(),
  action: text(),
  topic: text(),
  group: text(),
  address: text(),
});
