/**
 * How a cluster stands, from what its brokers said last: the same judgement as the fleet's
 * (platform/clusters/selectors/fleet.py), made anew with every row that the socket tells. Never better than what
 * is known. Pure.
 */
import type { LiveRow } from "./cluster_data";

export type Health = "ok" | "degraded" | "down" | "unknown";
export interface Judged {
  health: Health;
  /** A key of texts `healthWhy`, with what goes into it. */
  why?: "unknown" | "noMaster" | "silent" | "trouble" | "copies";
  words?: Record<string, string>;
}

const STALE_MS = 30_000;

export function healthOf(rows: readonly LiveRow[], now: number): Judged {
  const speakers = [...speakersOf(rows).values()];
  if (!speakers.some((row) => row.sampled_at !== null)) return { health: "unknown", why: "unknown" };
  const silent = speakers.filter((row) => !row.is_reachable);
  if (silent.length === speakers.length) return { health: "down", why: "noMaster" };
  if (silent.length > 0) return { health: "degraded", why: "silent", words: { names: namesOf(silent) } };
  if (speakers.some((row) => row.sampled_at === null || now - Date.parse(row.sampled_at) > STALE_MS)) {
    return { health: "unknown", why: "unknown" };
  }
  return membersHealth(rows);
}

function membersHealth(rows: readonly LiveRow[]): Judged {
  for (const row of rows) {
    const name = labelOf(row);
    if (!row.is_reachable) return { health: "degraded", why: "silent", words: { names: name } };
    if (row.ha.trouble) return { health: "degraded", why: "trouble", words: { name, text: row.ha.trouble } };
    if ((row.ha.inSync?.length ?? 0) < (row.ha.minInSync ?? 0)) {
      return { health: "degraded", why: "copies", words: { name: row.broker_name } };
    }
  }
  return { health: "ok" };
}

/** Of each group the member whose figures count: the master of the highest epoch, else whoever is there. */
export function speakersOf(rows: readonly LiveRow[]): Map<string, LiveRow> {
  const speakers = new Map<string, LiveRow>();
  const sorted = [...rows].sort(
    (a, b) =>
      Number(a.role === "master") - Number(b.role === "master") ||
      Number(a.epoch ?? 0) - Number(b.epoch ?? 0) ||
      b.member - a.member,
  );
  for (const row of sorted) speakers.set(row.broker_name, row);
  return speakers;
}

export function labelOf(row: LiveRow): string {
  return `${row.broker_name}-${row.member}`;
}

function namesOf(rows: readonly LiveRow[]): string {
  return rows
    .map((row) => row.broker_name)
    .sort()
    .join(", ");
}
