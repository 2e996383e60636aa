/** The state of the access-control screen in its address: also the question, so that an answer can be sent to somebody. */
import { oneOf, searchShape, text } from "@/shared/url/search";

export const ACTIONS = ["pub", "sub", "create", "update", "delete", "get", "list"] as const;
export type Action = (typeof ACTIONS)[number];

export const aclSearch = searchShape({
  tab: oneOf(["users", "explain"], "users"),
  search: text(),
  /** The user whose policies are open, or who is asked about. */
  user: text(),
  action: oneOf(ACTIONS, "pub"),
  topic: text(),
  group: text(),
  address: text(),
});
