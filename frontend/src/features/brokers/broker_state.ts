/**
 * How a broker stands, put together from what its agent saw (process) and what it said itself (live). Pure.
 * Nobody is said to run because nothing was heard: without an answer it is unknown, or down.
 */
import type { Tone } from "@/shared/ui/StateBadge";
import type { Broker } from "./broker_data";

export type StateName =
  | "running"
  | "starting"
  | "silent"
  | "stopped"
  | "stopping"
  | "crashed"
  | "crash_loop"
  | "down"
  | "unknown"
  | "trouble";

export const TONES: Record<StateName, Tone> = {
  running: "ok",
  starting: "info",
  silent: "bad",
  stopped: "quiet",
  stopping: "warn",
  crashed: "bad",
  crash_loop: "bad",
  down: "bad",
  unknown: "quiet",
  trouble: "warn",
};

export function stateOf({ process, live }: Broker): StateName {
  if (process !== null) {
    if (process.desired === "stopped") return process.observed === "stopped" ? "stopped" : "stopping";
    if (process.observed === "crashed" || process.observed === "crash_loop") return process.observed;
    if (process.observed === "stopped") return "down";
    if (process.observed === "silent") return "silent";
    if (process.observed === "starting" && !live?.is_reachable) return "starting";
  }
  if (live === null) return "unknown";
  if (!live.is_reachable) return live.sampled_at === null ? "unknown" : "down";
  return haOf(live).trouble ? "trouble" : "running";
}

export interface Slave {
  memberId?: number;
  address: string;
  lagBytes: string;
  isInSync?: boolean;
}

export interface Ha {
  role?: string;
  /** RocketMQ's bits: 4 read, 2 write. */
  permission?: number;
  memberId?: number;
  epoch?: string;
  trouble?: string;
  inSync?: number[];
  minInSync?: number;
  slaves?: Slave[];
  master?: string;
  lagBytes?: string;
}

export function haOf(live: Broker["live"]): Ha {
  return (live?.ha ?? {}) as Ha;
}

export interface Rates {
  put?: number;
  got?: number;
  pullsFound?: number;
  pullsMissed?: number;
}

export function ratesOf(live: Broker["live"]): Rates {
  return (live?.rates ?? {}) as Rates;
}

export interface Log {
  minOffset?: string;
  maxOffset?: string;
  flushedOffset?: string;
  dispatchedOffset?: string;
}

export function logOf(live: Broker["live"]): Log {
  return (live?.log ?? {}) as Log;
}

/** The master as members say; the console's own rows where nobody answers. */
export function masterOf(members: readonly Broker[]): Broker | undefined {
  return (
    members.find((member) => member.live?.is_reachable && member.live.role === "master") ??
    members.find((member) => member.is_master)
  );
}

export interface Standing {
  isMaster: boolean;
  /** Null: nobody says. */
  isInSync: boolean | null;
  /** Bytes behind its master; null: not known, or the master itself. */
  behind: string | null;
}

/** Each member beside its master: whether it is in sync, and how far behind. */
export function standingOf(broker: Broker, members: readonly Broker[]): Standing {
  const master = masterOf(members);
  const isMaster = broker === master;
  const ha = haOf(master?.live ?? null);
  const own = haOf(broker.live);
  if (master === undefined || !master.live?.is_reachable || ha.inSync === undefined) {
    return { isMaster, isInSync: null, behind: null };
  }
  const member = own.memberId ?? broker.live?.member;
  const slave = ha.slaves?.find((one) => one.memberId === member);
  const isInSync = member === undefined ? null : ha.inSync.includes(member);
  return { isMaster, isInSync, behind: isMaster ? null : (slave?.lagBytes ?? own.lagBytes ?? null) };
}

export function groupsOf(brokers: readonly Broker[]): Map<string, Broker[]> {
  const groups = new Map<string, Broker[]>();
  for (const broker of brokers) {
    const members = groups.get(broker.broker_name);
    if (members) members.push(broker);
    else groups.set(broker.broker_name, [broker]);
  }
  return groups;
}
