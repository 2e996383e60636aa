import type { ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import { ProblemError } from "@/shared/api/problem";
import { setLanguage } from "@/shared/texts/i18n";
import { fieldError, ProblemWords } from "./ProblemWords";

const taken = new ProblemError({
  status: 409,
  code: "exists",
  detail: "the topic orders is there already",
  errors: [{ field: "name", code: "exists", detail: "the topic orders is there already" }],
});

/** What is read, and what of it is marked as English. */
function drawn(node: ReactNode): { text: string; english: string | undefined } {
  const place = document.createElement("div");
  const root = createRoot(place);
  flushSync(() => root.render(node));
  const found = { text: place.textContent, english: place.querySelector('[lang="en"]')?.textContent };
  root.unmount();
  return found;
}

afterEach(() => setLanguage("en"));

test("in English the console's own words are enough", () => {
  const shown = drawn(<ProblemWords code="exists" detail={taken.detail} />);
  expect(shown).toEqual({ text: taken.detail, english: undefined });
});

test("in Chinese the code is translated, and the console's words are marked as English", () => {
  setLanguage("zh");
  const shown = drawn(fieldError(taken, "name"));
  expect(shown.text).toMatch(/^名称已被占用。/);
  expect(shown.english).toBe("the topic orders is there already");
});

test("words without a known code are shown as they are, marked as English", () => {
  setLanguage("zh");
  const shown = drawn(<ProblemWords code="http" detail="Bad Gateway" />);
  expect(shown).toEqual({ text: "Bad Gateway", english: "Bad Gateway" });
});

test("a field that nobody complained about has no error", () => {
  expect(fieldError(taken, "team")).toBeUndefined();
  expect(fieldError(null, "name")).toBeUndefined();
});
