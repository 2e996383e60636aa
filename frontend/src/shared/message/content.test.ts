import { describe, expect, it } from "vitest";
import {
  contentOf,
  EMPTY_DRAFT,
  faultsOf,
  isSendable,
  MAX_BODY_BYTES,
  propertiesOf,
  propertiesText,
} from "./content";

const draft = (values: Partial<typeof EMPTY_DRAFT>) => ({ ...EMPTY_DRAFT, ...values });

describe("content of a message", () => {
  it("is written as the API wants it", () => {
    expect(
      contentOf(
        draft({ text: " a ", tags: " paid ", keys: " k1  k2\nk3 ", properties: "shop=7\n\nurl=a=b" }),
      ),
    ).toEqual({
      body: " a ",
      tags: "paid",
      keys: ["k1", "k2", "k3"],
      properties: { shop: "7", url: "a=b" },
    });
  });

  it("names the line that is no property", () => {
    expect(faultsOf(draft({ properties: "a=1\nb\n" })).properties).toBe(2);
    expect(faultsOf(draft({ properties: "=1" })).properties).toBe(1);
  });

  it("is not sent empty, too large or as broken base64", () => {
    expect(isSendable(draft({ text: "" }))).toBe(false);
    expect(isSendable(draft({ text: "x" }))).toBe(true);
    expect(faultsOf(draft({ text: "ж".repeat(MAX_BODY_BYTES / 2 + 1) })).body).toBe("tooLarge");
    expect(faultsOf(draft({ kind: "base64", base64: "a?" })).body).toBe("badBase64");
    expect(faultsOf(draft({ kind: "base64", base64: "aGVs\nbG8=" })).body).toBeUndefined();
  });

  it("leaves RocketMQ's own properties out of what can be edited", () => {
    const text = propertiesText({ shop: "7", UNIQ_KEY: "x", TAGS: "t", a: "b=c" });
    expect(text).toBe("a=b=c\nshop=7");
    expect(propertiesOf(text)).toEqual({ a: "b=c", shop: "7" });
  });
});
