/** Severities and states of alerts: a word and a tone. */
import { StateBadge, Tag, type Tone } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

export type Alert = components["schemas"]["Alert"];

const STATES: Record<Alert["state"], Tone> = {
  pending: "warn",
  firing: "bad",
  no_data: "quiet",
  resolved: "ok",
};
const SEVERITIES: Record<string, Tone> = { info: "info", warning: "warn", critical: "bad" };

export function AlertState({ state }: { state: Alert["state"] }) {
  const t = useTexts();
  return <StateBadge tone={STATES[state]} label={t(`state.${state}`)} />;
}

export function Severity({ severity }: { severity: string }) {
  const t = useTexts();
  const isKnown = severity === "info" || severity === "warning" || severity === "critical";
  return <Tag tone={SEVERITIES[severity] ?? "quiet"}>{isKnown ? t(`severity.${severity}`) : severity}</Tag>;
}
