/** The state of the settings in their address. */
import { flag, listShape, oneOf, searchShape, text } from "@/shared/url/search";

export const settingsSearch = searchShape({
  ...listShape(["username", "last_login", "date_joined"], "username"),
  tab: oneOf(["profile", "tokens", "users"], "profile"),
  /** Of somebody whose drawer is open. */
  user: text(),
  active: flag(),
  /** Tokens of everybody. */
  all: flag(),
});
