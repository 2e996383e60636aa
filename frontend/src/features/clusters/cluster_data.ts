/** One cluster as it is now: what should be, and what its brokers and the socket say. */
import { useMemo } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { useLive, usePolling } from "@/shared/live/live";

export type Cluster = Answer<"/clusters/{cluster}/">;
export type Broker = Answer<"/clusters/{cluster}/brokers/">["results"][number];

export interface Totals {
  put_rate: number | null;
  got_rate: number | null;
  lag: string | null;
  topic_count: number;
  group_count: number;
}

/** A broker as the channel `cluster/{c}` tells it. */
export interface LiveRow {
  broker_name: string;
  member: number;
  address: string;
  role: string;
  version: string;
  epoch: string | null;
  ha: { permission?: number; trouble?: string; inSync?: number[]; minInSync?: number; memberId?: number };
  rates: { put?: number; got?: number };
  disk_ratio: number | null;
  sampled_at: string | null;
  is_reachable: boolean;
  error: string;
}

const OPERATIONS_MS = 10_000;

export function useCluster(cluster: string) {
  return useGet("/clusters/{cluster}/", { params: { cluster } }, { refetchInterval: OPERATIONS_MS });
}

/** Totals and brokers: told by the socket; read every ten seconds when it is dead or not for them. */
export function useClusterLive(cluster: string) {
  const live = useLive<Record<string, unknown>>(`cluster/${encodeURIComponent(cluster)}`);
  const polling = usePolling();
  const isPolling = polling !== false || live.error !== null;
  const read = useGet(
    "/clusters/{cluster}/brokers/",
    { params: { cluster } },
    { enabled: isPolling || live.rows === undefined, refetchInterval: isPolling ? OPERATIONS_MS : false },
  );
  return useMemo(() => {
    if (live.rows !== undefined && !isPolling) {
      const { "": totals, ...brokers } = live.rows;
      return {
        totals: totals as unknown as Totals | undefined,
        brokers: Object.values(brokers) as unknown as LiveRow[],
        sampledAt: live.sampledAt,
        error: null,
      };
    }
    return {
      totals: undefined,
      brokers: read.data?.results.flatMap(rowOf),
      sampledAt: read.data?.freshness.sampled_at ?? null,
      error: read.error,
    };
  }, [live.rows, live.sampledAt, isPolling, read.data, read.error]);
}

function rowOf(broker: Broker): LiveRow[] {
  if (broker.live === null) return [];
  return [{ ...broker.live, broker_name: broker.broker_name, address: broker.address } as unknown as LiveRow];
}
