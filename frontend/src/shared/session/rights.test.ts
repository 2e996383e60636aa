import { expect, test } from "vitest";
import { fits, type Grant, may, mayOnSomeCluster, maySomewhere } from "./rights";

const grant = (role: Grant["role"], clusters: string, names = "*", token_clusters = "*"): Grant => ({
  role,
  clusters,
  names,
  token_clusters,
});

test("a role covers the ones below it, where its patterns match", () => {
  const grants = [grant("operator", "prod-*", "orders-*"), grant("viewer", "*")];
  expect(may(grants, "operator", "prod-1", "orders-new")).toBe(true);
  expect(may(grants, "operator", "prod-1", "billing")).toBe(false);
  expect(may(grants, "operator", "prod-1")).toBe(false);
  expect(may(grants, "viewer")).toBe(true);
  expect(may(grants, "admin", "prod-1", "orders-new")).toBe(false);
  expect(maySomewhere(grants, "operator", "prod-1")).toBe(true);
  expect(maySomewhere(grants, "operator", "test")).toBe(false);
});

test("asking for everything takes a star, and a token narrows", () => {
  expect(may([grant("admin", "a*")], "viewer")).toBe(false);
  expect(may([grant("admin", "*", "*", "test-*")], "viewer", "prod")).toBe(false);
  expect(may([grant("admin", "*", "*", "test-*")], "viewer", "test-1")).toBe(true);
});

test("patterns are patterns, not expressions", () => {
  expect(fits("a.b", "axb")).toBe(false);
  expect(fits("%RETRY%*", "%RETRY%billing")).toBe(true);
  expect(fits("a?c", "abc")).toBe(true);
  expect(fits("a|b", "a")).toBe(false);
  expect(fits("A*", "a1")).toBe(false);
});

test("a cluster may be made by whoever administrates whole clusters", () => {
  expect(mayOnSomeCluster([grant("admin", "test-*")], "admin")).toBe(true);
  expect(mayOnSomeCluster([grant("admin", "*", "orders-*"), grant("operator", "*")], "admin")).toBe(false);
});
