import { describe, expect, it } from "vitest";
import { type Body, fromBase64, hexLines, imageType, looseText, previewOf, toBase64, viewsOf } from "./body";

const bytes = (...values: number[]) => new Uint8Array(values);
const body = (values: Partial<Body>): Body => ({
  kind: "text",
  size: 1,
  is_cut: false,
  text: null,
  base64: null,
  detail: "",
  ...values,
});

describe("bodies", () => {
  it("shows every byte that is no text as what it is", () => {
    expect(looseText(bytes(0x61, 0xff, 0x62, 0xc3))).toBe("a⟨FF⟩b⟨C3⟩");
    expect(looseText(bytes(0xc0, 0xaf))).toBe("⟨C0⟩⟨AF⟩");
    expect(looseText(bytes(0xed, 0xa0, 0x80))).toBe("⟨ED⟩⟨A0⟩⟨80⟩");
    expect(looseText(bytes(0xf4, 0x90, 0x80, 0x80))).toBe("⟨F4⟩⟨90⟩⟨80⟩⟨80⟩");
  });

  it("keeps text of all scripts", () => {
    const text = "zażółć 订单 🚂 \ufeffend";
    expect(looseText(new TextEncoder().encode(text))).toBe(text);
  });

  it("agrees with the browser on what is UTF-8, for random bytes", () => {
    let seed = 7;
    const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) >> 8;
    for (let round = 0; round < 2000; round += 1) {
      const few = bytes(...Array.from({ length: 1 + (next() % 5) }, () => 0x70 + (next() % 0x90)));
      const isValid = !new TextDecoder().decode(few).includes("\ufffd");
      expect(!looseText(few).includes("⟨")).toBe(isValid);
    }
  });

  it("writes hexadecimal as hexdump does", () => {
    expect(hexLines(new TextEncoder().encode("hello <b>world</b>"))).toEqual([
      "00000000  68 65 6c 6c 6f 20 3c 62  3e 77 6f 72 6c 64 3c 2f  |hello <b>world</|",
      "00000010  62 3e                                             |b>|",
    ]);
  });

  it("knows images by their first bytes and never takes markup for one", () => {
    const png = bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...Array.from({ length: 20 }, () => 0));
    expect(imageType(png)).toBe("image/png");
    expect(imageType(new TextEncoder().encode("<svg onload=alert(1)></svg>  "))).toBeNull();
    expect(viewsOf(body({ kind: "binary", base64: toBase64(png) }))[0]).toBe("image");
  });

  it("offers no view of what is hidden or damaged", () => {
    expect(viewsOf(body({ kind: "masked" }))).toEqual([]);
    expect(previewOf(body({ kind: "damaged" }))).toBeNull();
  });

  it("shows text with control characters as text first", () => {
    const base64 = toBase64(new TextEncoder().encode(`a long line of text with one \u0007 bell in it`));
    expect(viewsOf(body({ kind: "binary", base64 }))).toEqual(["text", "hex"]);
  });

  it("takes base64 apart and puts it together", () => {
    const values = bytes(...Array.from({ length: 256 }, (_, at) => at));
    expect(fromBase64(toBase64(values))).toEqual(values);
  });
});
