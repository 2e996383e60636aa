import { expect, it } from "vitest";
import { KINDS, newRule, UNITS, withKind } from "./rule_form";

it("keeps a threshold as long as it is measured in the same", () => {
  const lag = { ...newRule("prod"), threshold: 17 };
  expect(withKind(lag, "dlq_growth").threshold).toBe(17);
  expect(withKind(lag, "disk").threshold).toBe(0.85);
  expect(withKind(withKind(lag, "disk"), "broker_down").threshold).toBe(0);
  expect(withKind(lag, "damage").threshold).toBe(0);
  expect(withKind(withKind(lag, "disk_trend"), "deleted_unexpired").threshold).toBe(24);
});

it("knows what every kind is measured in", () => {
  expect(KINDS.filter((kind) => UNITS[kind] === null)).toEqual(["no_members", "broker_down"]);
  expect(newRule("prod").cluster_pattern).toBe("prod");
});
