/** How what a row tells of ended. */
import { StateBadge } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

export type Entry = components["schemas"]["Entry"];

export function OutcomeBadge({ entry }: { entry: Pick<Entry, "phase" | "is_ok"> }) {
  const t = useTexts();
  if (entry.is_ok === true) return <StateBadge tone="ok" label={t("outcome.ok")} />;
  if (entry.is_ok === false) return <StateBadge tone="bad" label={t("outcome.failed")} />;
  return <StateBadge tone="quiet" label={t(entry.phase === "intent" ? "outcome.intent" : "outcome.noted")} />;
}
