/**
 * Who may do what, where: the same judgement as the console's (platform/console/core/rights.py), to decide which
 * buttons exist. The API refuses anyway: nothing here protects anything.
 *
 * A grant is a role on the clusters and names that its patterns match: `*` any text, `?` one character.
 * Asking for `*` asks for all of them: only the pattern `*` gives that.
 */
import type { components } from "@/types/api.gen";

export type Role = components["schemas"]["RoleEnum"];
export type Grant = components["schemas"]["Grant"];

const RANK: Record<Role, number> = { viewer: 1, operator: 2, admin: 3 };
const ALL = "*";

export function may(grants: readonly Grant[], role: Role, cluster = ALL, name = ALL): boolean {
  return grants.some(
    (grant) => RANK[grant.role] >= RANK[role] && coversCluster(grant, cluster) && covers(grant.names, name),
  );
}

/** On any name of the cluster: whether a list of its topics may have a button at all. */
export function maySomewhere(grants: readonly Grant[], role: Role, cluster: string): boolean {
  return grants.some((grant) => RANK[grant.role] >= RANK[role] && coversCluster(grant, cluster));
}

/** On the whole of some cluster, which may not be there yet: whether one may make a cluster. */
export function mayOnSomeCluster(grants: readonly Grant[], role: Role): boolean {
  return grants.some((grant) => RANK[grant.role] >= RANK[role] && grant.names === ALL);
}

function coversCluster(grant: Grant, cluster: string): boolean {
  return covers(grant.clusters, cluster) && covers(grant.token_clusters, cluster);
}

function covers(pattern: string, name: string): boolean {
  return pattern === ALL || (name !== ALL && fits(pattern, name));
}

export function fits(pattern: string, name: string): boolean {
  const expression = pattern
    .replace(/\*+/g, "*")
    .replace(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replace(/\*/g, "[^]*")
    .replace(/\?/g, "[^]");
  return new RegExp(`^${expression}$`, "u").test(name);
}
