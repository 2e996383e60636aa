/** What a check found, in the reader's language; what is not known here is shown as the console says it. */
import type { components } from "@/types/api.gen";
import { en } from "./texts/en";

type Finding = components["schemas"]["Finding"];
type Words = Record<string, Record<string, string>>;
type Say = (key: string, values?: Record<string, string>) => string;

const { check: CHECKS, said: SAID, advice: ADVICE } = en.diagnosis;

export function nameOf(finding: Finding, say: Say): string {
  return finding.check_name in CHECKS ? say(`diagnosis.check.${finding.check_name}`) : finding.check_name;
}

export function sentenceOf(finding: Finding, say: Say): string {
  return has(SAID, finding) ? say(keyOf("said", finding), finding.values) : finding.text;
}

export function adviceOf(finding: Finding, say: Say): string {
  return has(ADVICE, finding) ? say(keyOf("advice", finding), finding.values) : finding.advice;
}

function has(words: Words, { check_name, code }: Finding): boolean {
  return words[check_name]?.[code] !== undefined;
}

function keyOf(kind: "said" | "advice", { check_name, code }: Finding): string {
  return `diagnosis.${kind}.${check_name}.${code}`;
}
