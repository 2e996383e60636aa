/** Steps as a page shows them: by position, what runs first; how many are done. Pure. */
import type { Step } from "./operation_data";

export interface Stage {
  position: number;
  isUndo: boolean;
  steps: Step[];
}

/** Steps of one position run side by side; undoing comes after all others. */
export function stagesOf(steps: readonly Step[]): Stage[] {
  const stages: Stage[] = [];
  for (const step of steps) {
    const last = stages[stages.length - 1];
    const isUndo = step.is_undo ?? false;
    if (last && last.position === step.position && last.isUndo === isUndo) last.steps.push(step);
    else stages.push({ position: step.position, isUndo, steps: [step] });
  }
  return stages;
}

export function countDone(steps: readonly Step[]): { done: number; all: number } {
  const forward = steps.filter((step) => !step.is_undo);
  return { done: forward.filter((step) => step.state === "done").length, all: forward.length };
}

/** Seconds; null when it has not begun. */
export function tookOf(
  begun: string | null | undefined,
  ended: string | null | undefined,
  now: number,
): number | null {
  if (!begun) return null;
  return Math.max(0, ((ended ? Date.parse(ended) : now) - Date.parse(begun)) / 1000);
}

export const BY_ADMIN = new Set(["create", "grow", "shrink", "upgrade", "delete", "restore"]);

export type Verb = "approve" | "cancel" | "retry" | "roll_back" | "give_up";

/** What can be done with an operation in that state: the same table as the console's. */
export function verbsFor(state: string, isUndoing: boolean): Verb[] {
  switch (state) {
    case "awaiting_approval":
      return ["approve", "cancel"];
    case "running":
      return ["cancel"];
    case "failed":
      return isUndoing ? ["retry", "give_up"] : ["retry", "roll_back", "give_up"];
    default:
      return [];
  }
}
