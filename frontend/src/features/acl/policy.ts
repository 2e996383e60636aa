/** Policies of a user as people write them. Pure. */
import type { components } from "@/types/api.gen";

export type Policy = components["schemas"]["AclPolicy"];
export type PolicyRequest = components["schemas"]["AclPolicyRequest"];
export type User = components["schemas"]["AclUser"];
export const POLICY_ACTIONS = ["All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"] as const;

export interface PolicyFields {
  type: Policy["type"] & string;
  resource: string;
  actions: string[];
  from: string;
  decision: Policy["decision"] & string;
}

export const NEW_POLICY: PolicyFields = {
  type: "Custom",
  resource: "Topic:",
  actions: ["Pub"],
  from: "",
  decision: "Allow",
};

export function fieldsOf(policy: Policy): PolicyFields {
  return {
    type: policy.type ?? "Custom",
    resource: policy.resource,
    actions: [...policy.actions],
    from: (policy.source_ips ?? []).join(", "),
    decision: policy.decision ?? "Allow",
  };
}

export function policyOf({ type, resource, actions, from, decision }: PolicyFields): PolicyRequest {
  const source_ips = from
    .split(/[\s,]+/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
  return {
    type,
    resource: resource.trim(),
    actions: actions as PolicyRequest["actions"],
    source_ips,
    decision,
  };
}

/** As the broker reads it: a kind and a name, or everything. */
export function isResource(text: string): boolean {
  return /^(\*|(topic|group|cluster):\S+)$/i.test(text.trim());
}

export function areComplete(policies: readonly PolicyFields[]): boolean {
  return policies.every((one) => isResource(one.resource) && one.actions.length > 0);
}
