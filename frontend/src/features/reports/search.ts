/** The state of the report screens in their addresses. */
import { listShape, oneOf, searchShape } from "@/shared/url/search";

export const reportsSearch = searchShape({
  ...listShape(["created_at"], "-created_at"),
  tab: oneOf(["runs", "schedules"], "runs"),
});

export const reportSearch = searchShape({ tab: oneOf(["chart", "table"], "chart") });
