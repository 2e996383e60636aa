/** The state of the operation screens in their addresses. */
import { listShape, optional, searchShape, text } from "@/shared/url/search";

export const STATES = [
  "awaiting_approval",
  "running",
  "cancelling",
  "rolling_back",
  "succeeded",
  "failed",
  "cancelled",
  "rolled_back",
] as const;

export const KINDS = [
  "create",
  "grow",
  "shrink",
  "restart",
  "upgrade",
  "configure",
  "promote",
  "repair",
  "delete",
  "restore",
] as const;

export const operationsSearch = searchShape({
  ...listShape(["created_at", "kind", "state"], "-created_at"),
  kind: optional(KINDS),
  state: optional(STATES),
});

export const operationSearch = searchShape({ step: text() });
