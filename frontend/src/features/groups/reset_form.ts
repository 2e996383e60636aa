/** Where a group is to go: what is asked for, and whether it is complete. Pure. */
import type { components } from "@/types/api.gen";
import { byPlace, type Group, placeOf, wholeOf } from "./group";

export type NewReset = components["schemas"]["NewResetRequest"];
export const KINDS = ["earliest", "latest", "time", "shift", "exact", "copy"] as const;
export type Kind = (typeof KINDS)[number];

export interface ResetFields {
  to: Kind;
  topics: string[];
  /** As the browser's field for a date and a time has it, in the zone of whoever looks. */
  at: string;
  by: string;
  source: string;
  /** By queue, as typed; empty: it stays. */
  offsets: Record<string, string>;
}

export const NO_RESET: ResetFields = { to: "earliest", topics: [], at: "", by: "", source: "", offsets: {} };

export interface Place {
  topic: string;
  broker: string;
  queue: number;
  committed: string | null;
  max: string | null;
}

export function placesOf(group: Group | undefined): Place[] {
  return (group?.topics ?? [])
    .flatMap(({ topic, queues }) =>
      queues.map(({ broker, queue, committed, max }) => ({ topic, broker, queue, committed, max })),
    )
    .sort(byPlace);
}

/** Null: something is missing or cannot be read. */
export function resetOf(fields: ResetFields, places: readonly Place[]): NewReset | null {
  const { to } = fields;
  const topics = fields.topics.length > 0 ? { topics: fields.topics } : {};
  if (to === "time") {
    const at = new Date(fields.at);
    return fields.at === "" || Number.isNaN(at.getTime()) ? null : { to, at: at.toISOString(), ...topics };
  }
  if (to === "shift") {
    const by = wholeOf(fields.by);
    return by === null || by === "0" ? null : { to, by, ...topics };
  }
  if (to === "copy") {
    const source_group = fields.source.trim();
    return source_group === "" ? null : { to, source_group, ...topics };
  }
  if (to === "exact") return exactOf(fields, places);
  return { to, ...topics };
}

function exactOf(fields: ResetFields, places: readonly Place[]): NewReset | null {
  const queues = [];
  for (const place of places) {
    const typed = (fields.offsets[placeOf(place)] ?? "").trim();
    if (typed === "") continue;
    const offset = wholeOf(typed);
    if (offset === null || offset.startsWith("-")) return null;
    queues.push({ topic: place.topic, broker: place.broker, queue: place.queue, offset });
  }
  return queues.length === 0 ? null : { to: "exact", queues };
}

/** What a reset was asked for, as the API keeps it. */
export interface Target {
  to: Kind | "undo";
  topics?: string[];
  at_ms?: string;
  by?: string;
  source_group?: string;
  queues?: unknown[];
}
