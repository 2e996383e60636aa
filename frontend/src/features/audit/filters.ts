/** Filters of the audit log, from the address to the API. Pure. */
import type { SearchOf } from "@/shared/url/search";
import type { auditSearch } from "./search";

export type AuditSearch = SearchOf<typeof auditSearch>;
export const NO_FILTERS = {
  actor: "",
  action: "",
  cluster: "",
  target: "",
  since: "",
  until: "",
  ok: null,
} as const;

export function filtersOf(search: AuditSearch) {
  const { actor, action, cluster, target, since, until, ok } = search;
  const texts = Object.fromEntries(
    Object.entries({ actor, action, cluster, target, since, until }).filter(([, text]) => text !== ""),
  );
  return { ...texts, ...(ok !== null && { is_ok: ok === "true" }) };
}

export function isFiltered(search: AuditSearch): boolean {
  return Object.keys(filtersOf(search)).length > 0;
}
