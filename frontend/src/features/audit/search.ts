/** The state of the audit screen in its address. */
import { listShape, optional, searchShape, text } from "@/shared/url/search";

export const auditSearch = searchShape({
  ...listShape(["at"], "-at"),
  actor: text(),
  action: text(),
  cluster: text(),
  target: text(),
  since: text(),
  until: text(),
  ok: optional(["true", "false"]),
  entry: text(),
});
