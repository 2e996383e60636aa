import { describe, expect, it } from "vitest";
import { labelsText, parseLabels } from "./labels";

describe("labels", () => {
  it("are read as written, with equal signs in values", () => {
    expect(parseLabels(" tier=1, query = a=b ,")).toEqual({ tier: "1", query: "a=b" });
    expect(labelsText({ tier: "1", query: "a=b" })).toBe("tier=1, query=a=b");
  });
  it("without a name are refused", () => {
    expect([parseLabels("tier"), parseLabels("=1")]).toEqual([null, null]);
  });
});
