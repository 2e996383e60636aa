/** A cluster that somebody is about to make: what stands in the address, and what the API is asked for. Pure. */
import type { SearchOf } from "@/shared/url/search";
import type { components } from "@/types/api.gen";
import { labelsOf } from "../labels";
import type { newClusterSearch } from "../search";

export type Draft = SearchOf<typeof newClusterSearch>;
export type NewCluster = components["schemas"]["NewClusterRequest"];

const SIZES: Record<Draft["segment"], string | null> = {
  default: null,
  mb256: String(256 << 20),
  mb64: String(64 << 20),
  mb16: String(16 << 20),
};

export function requestOf(draft: Draft): NewCluster {
  const size = SIZES[draft.segment];
  const hosts = hostsOf(draft);
  return {
    kind: "managed",
    name: draft.name,
    name_servers: draft.servers,
    groups: draft.groups,
    slaves: draft.slaves,
    ...(hosts.length > 0 ? { hosts } : {}),
    profile: draft.profile,
    access_control: draft.access,
    overrides: size === null ? {} : { mappedFileSizeCommitLog: size },
    release: draft.release,
    allow_same_host: draft.share,
    needs_approval: draft.approval,
    labels: labelsOf(draft.labels.replaceAll(",", "\n")),
    broker_cluster_name: "DefaultCluster",
  };
}

export function hostsOf(draft: Draft): string[] {
  return draft.hosts === "" ? [] : draft.hosts.split(",");
}

/** The same rule as the console's, so that people see it while they type. */
export function isName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

export function brokersOf(draft: Draft): number {
  return draft.groups * (1 + draft.slaves);
}

/** Where a step's field stands: problems of the API lead back to it. */
export function stepOf(field: string | null): number {
  if (field === null) return 4;
  if (/^(name|groups|slaves|name_servers|group_names|labels)/.test(field)) return 1;
  if (/^(profile|access_control|overrides|release)/.test(field)) return 2;
  return field.startsWith("hosts") ? 3 : 4;
}
