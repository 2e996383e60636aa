/** The state of the report screens in their addresses. */
import { listShape, oneOf, searchShape, text, whole } from "@/shared/url/search";

export const reportsSearch = searchShape({
  ...listShape(["created_at"], "-created_at"),
  tab: oneOf(["runs", "schedules"], "runs"),
});

export const reportSearch = searchShape({
  tab: oneOf(["results", "tables", "log"], "results"),
  table: text(),
  page: whole(1, 1, 1_000_000),
  size: whole(100, 50, 500),
});
