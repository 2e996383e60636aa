/** Brokers as they are now: rows of the console, with what the socket told since. */
import { useMemo } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { useLive, usePolling } from "@/shared/live/live";
import type { components } from "@/types/api.gen";

export type Broker = Answer<"/clusters/{cluster}/brokers/">["results"][number];
export type Process = components["schemas"]["Process"];
export type LiveBroker = NonNullable<Broker["live"]>;

/** Processes are looked at every five seconds by their agents; what they say has no channel of its own. */
const PROCESSES_MS = 5_000;

export function useBrokers(cluster: string) {
  const polling = usePolling();
  const read = useGet(
    "/clusters/{cluster}/brokers/",
    { params: { cluster } },
    { refetchInterval: polling === false ? PROCESSES_MS : polling },
  );
  const live = useLive<Record<string, unknown>>(`cluster/${encodeURIComponent(cluster)}`);
  const brokers = useMemo(
    () => (read.data && live.rows ? withLive(read.data.results, live.rows as LiveRows) : read.data?.results),
    [read.data, live.rows],
  );
  const sampledAt = newer(read.data?.freshness.sampled_at ?? null, live.sampledAt);
  return { ...read, brokers, sampledAt };
}

type LiveRows = Record<string, LiveBroker & { address: string }>;

/** By address: a promoted member has another number for a moment. */
export function withLive(brokers: readonly Broker[], rows: LiveRows): Broker[] {
  const byAddress = new Map(Object.values(rows).map((row) => [row.address, row]));
  return brokers.map((broker) => {
    const news = byAddress.get(broker.address);
    return news === undefined ? broker : { ...broker, live: { ...broker.live, ...news } };
  });
}

export function newer(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return Date.parse(left) >= Date.parse(right) ? left : right;
}
