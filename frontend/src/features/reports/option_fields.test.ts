import { expect, it } from "vitest";
import { type Option, optionsFrom } from "./option_fields";

const option = (name: string, kind: Option["kind"], is_list = false): Option => ({
  name,
  kind,
  is_list,
  about: "",
  default: null,
  low: null,
  high: null,
  choices: [],
});

it("says only what was touched, as numbers, flags and lists", () => {
  const options = [
    option("hours", "integer"),
    option("price", "number"),
    option("topics", "text", true),
    option("deep", "boolean"),
  ];
  expect(optionsFrom(options, {})).toEqual({});
  const typed = { hours: "72", price: "0.5", topics: " a\n\nb ", deep: true };
  expect(optionsFrom(options, typed)).toEqual({ hours: 72, price: 0.5, topics: ["a", "b"], deep: true });
  expect(optionsFrom(options, { hours: "many" })).toEqual({ hours: "many" });
});
