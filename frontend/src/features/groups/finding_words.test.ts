import { describe, expect, it } from "vitest";
import { adviceOf, nameOf, sentenceOf } from "./finding_words";

const say = (key: string, values: Record<string, string> = {}) => [key, ...Object.values(values)].join(" ");
const finding = (check_name: string, code: string) => ({
  check_name,
  code,
  state: "warning" as const,
  text: "said by the console",
  advice: "advised by the console",
  values: { count: "3" },
  evidence: [],
});

describe("a finding", () => {
  it("is said in our own words, with what it tells", () => {
    expect(sentenceOf(finding("retries", "dead"), say)).toBe("diagnosis.said.retries.dead 3");
    expect(adviceOf(finding("retries", "dead"), say)).toBe("diagnosis.advice.retries.dead 3");
    expect(nameOf(finding("retries", "dead"), say)).toBe("diagnosis.check.retries");
  });
  it("that is newer than this page is shown as the console says it", () => {
    expect(sentenceOf(finding("retries", "new"), say)).toBe("said by the console");
    expect(sentenceOf(finding("newer_check", "new"), say)).toBe("said by the console");
    expect(adviceOf(finding("newer_check", "new"), say)).toBe("advised by the console");
    expect(nameOf(finding("newer_check", "new"), say)).toBe("newer_check");
  });
});
