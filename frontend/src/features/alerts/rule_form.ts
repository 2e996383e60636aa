/** An alert rule as the form has it: kinds, what their thresholds are measured in, values to begin with. Pure. */
import type { components } from "@/types/api.gen";

export type Rule = components["schemas"]["AlertRule"];
export type Kind = Rule["kind"];
export type RuleDraft = components["schemas"]["AlertRuleRequest"] & {
  severity: "info" | "warning" | "critical";
  channels: string[];
  is_enabled: boolean;
};

export const KINDS = [
  "lag",
  "seconds",
  "eta",
  "no_members",
  "dlq_growth",
  "disk",
  "in_sync",
  "slave_lag",
  "broker_down",
  "disk_trend",
  "deleted_unexpired",
  "damage",
  "certificate",
] as const satisfies readonly Kind[];

export type Unit =
  "messages" | "seconds" | "ratio" | "members" | "bytes" | "hoursAhead" | "hoursSince" | "records" | "days";

/** Null: there is nothing to measure. */
export const UNITS: Record<Kind, Unit | null> = {
  lag: "messages",
  seconds: "seconds",
  eta: "seconds",
  no_members: null,
  dlq_growth: "messages",
  disk: "ratio",
  in_sync: "members",
  slave_lag: "bytes",
  broker_down: null,
  disk_trend: "hoursAhead",
  deleted_unexpired: "hoursSince",
  damage: "records",
  certificate: "days",
};

const FIRST: Record<Kind, number> = {
  lag: 10_000,
  seconds: 300,
  eta: 1_800,
  no_members: 0,
  dlq_growth: 0,
  disk: 0.85,
  in_sync: 0,
  slave_lag: 64 * 1024 * 1024,
  broker_down: 0,
  disk_trend: 24,
  deleted_unexpired: 24,
  damage: 0,
  certificate: 30,
};

export function newRule(cluster: string): RuleDraft {
  return {
    name: "",
    kind: "lag",
    cluster_pattern: cluster,
    name_pattern: "*",
    threshold: FIRST.lag,
    for_s: 60,
    severity: "warning",
    channels: [],
    is_enabled: true,
  };
}

export function draftOf(rule: Rule): RuleDraft {
  const { name, kind, cluster_pattern, name_pattern, threshold, for_s } = rule;
  return {
    name,
    kind,
    cluster_pattern,
    name_pattern,
    threshold,
    for_s,
    severity: rule.severity ?? "warning",
    channels: rule.channels ?? [],
    is_enabled: rule.is_enabled ?? true,
  };
}

/** Another kind is measured in something else: its threshold begins anew. */
export function withKind(draft: RuleDraft, kind: Kind): RuleDraft {
  return { ...draft, kind, threshold: UNITS[kind] === UNITS[draft.kind] ? draft.threshold : FIRST[kind] };
}
