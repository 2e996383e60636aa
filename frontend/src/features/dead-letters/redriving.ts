/** How carefully a redrive goes, as the form has it and as the API wants it. Pure. */
import type { components } from "@/types/api.gen";

export interface Care {
  target: components["schemas"]["TargetEnum"];
  topic: string;
  canary: number;
  windowS: number;
  rate: number;
  failurePercent: number;
  skipsRedriven: boolean;
}

export const CAREFUL: Care = {
  target: "group",
  topic: "",
  canary: 10,
  windowS: 60,
  rate: 50,
  failurePercent: 10,
  skipsRedriven: true,
};

export function requestOf(
  selection: readonly string[],
  care: Care,
): components["schemas"]["RedriveRequestRequest"] {
  return {
    ...(selection.length === 0 ? { all: true } : { all: false, selection: [...selection] }),
    target: care.target,
    ...(care.target === "topic" && { topic: care.topic.trim() }),
    canary: care.canary,
    canary_window_s: care.windowS,
    rate: care.rate,
    max_failure_share: care.failurePercent / 100,
    skips_redriven: care.skipsRedriven,
  };
}
