import { describe, expect, it } from "vitest";
import { areComplete, fieldsOf, isResource, NEW_POLICY, policyOf } from "./policy";

describe("a policy", () => {
  it("comes back as it was", () => {
    const policy = {
      type: "Custom" as const,
      resource: "Topic:orders",
      actions: ["Pub" as const, "Sub" as const],
      source_ips: ["10.0.0.0/8", "::1"],
      decision: "Deny" as const,
    };
    expect(policyOf(fieldsOf(policy))).toEqual(policy);
  });
  it("takes addresses by commas or spaces", () => {
    expect(policyOf({ ...NEW_POLICY, from: " 10.0.0.1,,  10.0.0.2 " }).source_ips).toEqual([
      "10.0.0.1",
      "10.0.0.2",
    ]);
  });
  it("names a resource and an action", () => {
    expect(["*", "Topic:a", "Group:*", "Cluster:c", "Topic:", "a", ""].map(isResource)).toEqual([
      ...[true, true, true, true],
      ...[false, false, false],
    ]);
    expect(areComplete([NEW_POLICY])).toBe(false);
    expect(areComplete([{ ...NEW_POLICY, resource: "Topic:a" }])).toBe(true);
    expect(areComplete([{ ...NEW_POLICY, resource: "Topic:a", actions: [] }])).toBe(false);
  });
});
