import { describe, expect, it } from "vitest";
import { newClusterSearch } from "../search";
import { brokersOf, isName, requestOf, stepOf } from "./draft";

const draft = newClusterSearch.full({
  name: "orders",
  groups: 2,
  hosts: "a,b",
  segment: "mb16",
  labels: "team=shop,env=dev",
});

describe("a draft of a cluster", () => {
  it("is what the API is asked for", () => {
    expect(requestOf(draft)).toMatchObject({
      kind: "managed",
      name: "orders",
      groups: 2,
      slaves: 1,
      profile: "safe",
      access_control: "administration",
      hosts: ["a", "b"],
      overrides: { mappedFileSizeCommitLog: "16777216" },
      labels: { team: "shop", env: "dev" },
    });
  });
  it("names no hosts when any will do", () => {
    expect(requestOf(newClusterSearch.full({ name: "x" }))).not.toHaveProperty("hosts");
  });
  it("counts its brokers", () => {
    expect(brokersOf(draft)).toBe(4);
  });
  it("has a name that addresses can have", () => {
    expect(["orders", "a", "a-1"].every(isName)).toBe(true);
    expect(["", "-a", "a-", "A", "a_b", "a".repeat(64)].some(isName)).toBe(false);
  });
  it("leads a problem back to where it can be mended", () => {
    expect([
      stepOf("slaves"),
      stepOf("overrides.x"),
      stepOf("access_control"),
      stepOf("hosts"),
      stepOf(null),
    ]).toEqual([1, 2, 2, 3, 4]);
  });
});
