import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { zhProblems } from "./zh_problems";

const PLATFORM = join(import.meta.dirname, "../../../../platform");
/** All of platform/ as text: a code that is written there and not translated here is a page half in English. */
const SOURCES = readdirSync(PLATFORM, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".py"))
  .map((path) => readFileSync(join(PLATFORM, path), "utf8"));
const RAISED = /\b(?:Problem|super\(\).__init__)\(\s*"([a-z_]+)",/g;
const FIELDS = /\bValidationError\((?:[^()]|\([^()]*\))*?,\s*"([a-z_]+)"\s*\)/g;

/** What Django REST framework answers by itself, as a whole and of a field. */
const FRAMEWORK = [
  ..."authentication_failed not_authenticated throttled error parse_error method_not_allowed".split(" "),
  ..."not_acceptable unsupported_media_type permission_denied not_found invalid internal too_large".split(
    " ",
  ),
  ..."required null blank invalid_choice does_not_exist unique max_length min_length max_value".split(" "),
  ..."min_value max_string_length not_a_list not_a_dict empty date datetime".split(" "),
  ..."null_characters_not_allowed surrogate_characters_not_allowed".split(" "),
];

function written(pattern: RegExp): Set<string> {
  const found = SOURCES.flatMap((text) => [...text.matchAll(pattern)].map((hit) => hit[1]));
  return new Set(found.filter((code) => code !== undefined));
}

test("every code of the API has a Chinese sentence", () => {
  const codes = written(RAISED);
  expect(codes.size).toBeGreaterThan(80);
  expect(written(FIELDS)).toContain("sql");
  const missing = [...codes, ...written(FIELDS), ...FRAMEWORK].filter((code) => !(code in zhProblems));
  expect(missing).toEqual([]);
});

test("no sentence is kept for a code that nobody answers any more", () => {
  const known = new Set([...written(RAISED), ...written(FIELDS), ...FRAMEWORK]);
  expect(Object.keys(zhProblems).filter((code) => !known.has(code))).toEqual([]);
});

test("sentences are Chinese and end", () => {
  for (const sentence of Object.values(zhProblems)) expect(sentence).toMatch(/[\u4e00-\u9fff].*。$/);
});
