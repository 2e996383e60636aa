import { expect, test } from "vitest";
import { safeNext } from "./search";

test("nobody is led to another site", () => {
  expect(safeNext("/clusters/a?tab=x")).toBe("/clusters/a?tab=x");
  for (const bad of [
    "//example.com",
    "/\\example.com",
    "https://example.com",
    "javascript:alert(1)",
    "",
    "/sign-in?next=/sign-in",
  ]) {
    expect(safeNext(bad)).toBe("/");
  }
});
