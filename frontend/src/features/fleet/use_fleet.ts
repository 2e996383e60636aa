/** All clusters: read every ten seconds for their health, their totals live in between. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { refresh, useGet } from "@/shared/api/queries";
import { POLL_MS, useLives } from "@/shared/live/live";
import { useRights } from "@/shared/session/session";
import { type FleetRow, withTotals } from "./fleet_rows";

/** A socket has fifty channels at most, and other parts of the page want some. */
const WATCHED = 20;

export function useFleet() {
  const { may } = useRights();
  const client = useQueryClient();
  const read = useGet("/fleet/", {}, { refetchInterval: POLL_MS });
  const clusters = read.data?.clusters;
  const watched = useMemo(
    () =>
      (clusters ?? [])
        .filter((row) => may("viewer", row.name))
        .slice(0, WATCHED)
        .map((row) => row.name),
    [clusters, may],
  );
  const lives = useLives(watched.map(channelOf));
  const rows = useMemo(
    () =>
      clusters?.map((row: FleetRow) => {
        const live = lives[channelOf(row.name)];
        return withTotals(row, live?.rows?.[""], live?.sampledAt ?? null);
      }),
    [clusters, lives],
  );
  // A broker that came or went is news of its cluster's health: not ten seconds late.
  const reachable = watched
    .map((name) => Object.values(lives[channelOf(name)]?.rows ?? {}).map((row) => row.is_reachable))
    .join();
  const before = useRef(reachable);
  useEffect(() => {
    if (before.current !== reachable && before.current !== "") void refresh(client, "/fleet/");
    before.current = reachable;
  }, [reachable, client]);
  return { ...read, rows };
}

function channelOf(cluster: string): string {
  return `cluster/${encodeURIComponent(cluster)}`;
}
