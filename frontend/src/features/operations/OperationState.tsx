/** States of operations and steps, by colour, shape and word. */
import type { Tone } from "@/shared/ui/StateBadge";
import { StateBadge, toneOf } from "@/shared/ui/StateBadge";
import type { Operation } from "./operation_data";
import { useTexts } from "./texts";

/** Running is no state of health here: it is not over. */
const TONES: Record<string, Tone> = { running: "info", cancelling: "warn" };

export function OperationState({ state }: { state: Operation["state"] }) {
  const t = useTexts();
  return <StateBadge state={state} tone={TONES[state] ?? toneOf(state)} label={t(`state.${state}`)} />;
}

const KINDS = new Set([
  "create",
  "grow",
  "shrink",
  "restart",
  "upgrade",
  "configure",
  "promote",
  "repair",
  "delete",
  "restore",
  "document",
]);

/** The word for a kind; kinds that we do not know are shown as they are. */
export function useKindWord(): (kind: string) => string {
  const t = useTexts();
  return (kind) => (KINDS.has(kind) ? t(`kind.${kind}` as "kind.create") : kind);
}
