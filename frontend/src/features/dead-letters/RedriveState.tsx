/** States of redrives and of letters in them: a word and a tone. */
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

export type Redrive = components["schemas"]["Redrive"];
export type OutcomeState = components["schemas"]["RedriveOutcomeStateEnum"];

const TONES: Record<Redrive["state"], Tone> = {
  canary: "info",
  watching: "info",
  running: "info",
  paused: "warn",
  stopped: "bad",
  done: "ok",
  cancelled: "quiet",
  failed: "bad",
};

const OUTCOME_TONES: Record<OutcomeState, Tone> = {
  intent: "info",
  sent: "ok",
  refused: "bad",
  unsure: "warn",
  came_back: "bad",
  skipped: "quiet",
};

export function isOpen(state: Redrive["state"]): boolean {
  return (
    state === "canary" ||
    state === "watching" ||
    state === "running" ||
    state === "paused" ||
    state === "stopped"
  );
}

export function RedriveState({ state, why }: { state: Redrive["state"]; why?: string }) {
  const t = useTexts();
  return <StateBadge tone={TONES[state]} label={t(`state.${state}`)} why={why} />;
}

export function OutcomeBadge({ state }: { state: OutcomeState }) {
  const t = useTexts();
  return <StateBadge tone={OUTCOME_TONES[state]} label={t(`outcome.${state}`)} />;
}
