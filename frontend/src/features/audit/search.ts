/** The state of the audit screen in its address. */
import { optional, searchShape, text, whole } from "@/shared/url/search";

export const auditSearch = searchShape({
  page: whole(1, 1, 1_000_000),
  size: whole(100, 50, 500),
  actor: text(),
  action: text(),
  cluster: text(),
  target: text(),
  since: text(),
  until: text(),
  ok: optional(["true", "false"]),
  entry: text(),
});
