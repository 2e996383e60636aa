import { expect, test } from "vitest";
import { indentJson, isJson, jsonTokens } from "./json_text";
import { cut, piecesOf, visible } from "./plain_text";

test("what cannot be seen is shown as what it is", () => {
  expect(visible("a\u0000b\r\n\tc")).toBe("a␀b␍\n\tc");
  expect(visible("or\u202eders")).toBe("or⟨202E⟩ders");
  expect(visible("x\ud800y")).toBe("x⟨D800⟩y");
  expect(visible("emoji 🚂 stays")).toBe("emoji 🚂 stays");
  expect(piecesOf("a\u200bb")).toEqual([
    { text: "a", isControl: false },
    { text: "⟨200B⟩", isControl: true },
    { text: "b", isControl: false },
  ]);
});

test("a cut leaves no half character", () => {
  expect(cut("ab🚂", 3)).toBe("ab");
  expect(cut("ab🚂", 4)).toBe("ab🚂");
});

test("JSON keeps every digit of its numbers", () => {
  const text = '{"id":9223372036854775807,"list":[],"deep":{"a":[1,2.50]},"s":"x: {\\"y\\"}"}';
  expect(indentJson(text)).toBe(
    '{\n  "id": 9223372036854775807,\n  "list": [],\n  "deep": {\n    "a": [\n      1,\n      2.50\n    ]\n  },\n  "s": "x: {\\"y\\"}"\n}',
  );
  expect(indentJson("not {json")).toBe("not {json");
  expect([isJson("[1]"), isJson("7"), isJson("{")]).toEqual([true, false, false]);
});

test("keys and strings are told apart", () => {
  expect(jsonTokens('{"a": "b", "n": -1.5e3, "t": true}').filter((token) => token.kind)).toEqual([
    { kind: "key", text: '"a"' },
    { kind: "string", text: '"b"' },
    { kind: "key", text: '"n"' },
    { kind: "number", text: "-1.5e3" },
    { kind: "key", text: '"t"' },
    { kind: "word", text: "true" },
  ]);
});
