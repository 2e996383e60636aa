import { describe, expect, it } from "vitest";
import type { Message } from "@/shared/message/cells";
import { draftOf, editsOf, keepsBody } from "./editing";

const body = (values: Partial<Message["body"]>) =>
  ({
    kind: "text",
    size: 3,
    is_cut: false,
    text: "abc",
    base64: null,
    detail: "",
    ...values,
  }) as Message["body"];

describe("editing a dead letter", () => {
  const before = draftOf(
    { tags: "paid", keys: ["k1", "k2"], properties: { shop: "7", UNIQ_KEY: "x" } },
    "stored",
  );

  it("tells the API nothing where nothing was changed", () => {
    expect(editsOf(before, { ...before }, false)).toEqual({});
  });

  it("tells what was changed and nothing else", () => {
    expect(editsOf(before, { ...before, text: "new", keys: "k1" }, false)).toEqual({
      body: "new",
      keys: ["k1"],
    });
    expect(editsOf(before, { ...before, tags: "" }, false)).toEqual({ tags: "" });
  });

  it("never sends a body that was not shown whole", () => {
    expect(editsOf(before, { ...before, text: "only the beginning" }, true)).toEqual({});
    expect(keepsBody({ is_masked: false, body: body({ size: 2 * 1024 * 1024, is_cut: true }) })).toBe(
      "large",
    );
    expect(keepsBody({ is_masked: true, body: body({}) })).toBe("masked");
    expect(keepsBody({ is_masked: false, body: body({ kind: "binary" }) })).toBe("binary");
    expect(keepsBody({ is_masked: false, body: body({}) })).toBeNull();
  });
});
