/**
 * What a broker says about keeping messages: when it deletes and refuses, what was deleted too early, what is damaged,
 * when its certificate ends. Pure. A section that a broker does not report is null, which is not the same as "none".
 */
import type { Tone } from "@/shared/ui/StateBadge";
import type { Broker } from "./broker_data";

export interface DeletedUnexpired {
  segments: number;
  bytes: string;
  fromOffset: string;
  toOffset: string;
  atMs: number;
}

export interface Retention {
  mayDeleteUnexpired: boolean;
  reservedHours: number;
  cleanRatio: number;
  forceRatio: number;
  refuseRatio: number;
  deletedUnexpired?: DeletedUnexpired;
}

export interface Damage {
  skipped: number;
  repaired: number;
  last?: { file: string; offset: string; size: string; atMs: number; outcome: "skipped" | "repaired" };
}

export function retentionOf(live: Broker["live"]): Retention | null {
  return (live?.retention ?? null) as Retention | null;
}

/** "none": the broker reports damage and has found none. Null: it does not report it. */
export function damageOf(live: Broker["live"]): Damage | "none" | null {
  if (live?.damage) return live.damage as unknown as Damage;
  return retentionOf(live) === null ? null : "none";
}

/** The moment at which the certificate of the TLS port ends. "none": there is none. Null: not reported. */
export function certificateEnd(live: Broker["live"]): number | "none" | null {
  const said = live?.certificate as { notAfterMs: number } | null | undefined;
  if (said) return said.notAfterMs;
  return retentionOf(live) === null ? null : "none";
}

const DAY_MS = 86_400_000;

/** As the alerts that a console begins with: 30, 7 and 1 days ahead. */
export function certificateTone(endMs: number, nowMs: number): Tone {
  const days = (endMs - nowMs) / DAY_MS;
  if (days <= 1) return "bad";
  if (days <= 7) return "warn";
  return days <= 30 ? "info" : "ok";
}

/** Whether acknowledged messages may be deleted to make room, although the group promises to keep them. */
export function breaksPromise(live: Broker["live"]): boolean {
  const { minInSync } = (live?.ha ?? {}) as { minInSync?: number };
  return retentionOf(live)?.mayDeleteUnexpired === true && (minInSync ?? 1) > 1;
}
