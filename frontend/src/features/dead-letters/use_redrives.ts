/** Redrives of a group as they are now: what was read, and what the socket told since. */
import { useEffect } from "react";
import { useGet } from "@/shared/api/queries";
import { useLive, useLiveList, usePolling } from "@/shared/live/live";
import { isOpen } from "./RedriveState";

/** Outcomes are counted by the list alone: while one runs it is read every few seconds. */
const RUNNING_MS = 2_000;

export function useRedrives(cluster: string, group: string) {
  const polling = usePolling();
  const read = useGet(
    "/clusters/{cluster}/redrives/",
    { params: { cluster }, query: { group, limit: 100 } },
    { refetchInterval: polling },
  );
  const channel = `jobs/${encodeURIComponent(cluster)}`;
  const live = useLiveList(read.data?.results, channel, (redrive) => redrive.id);
  const told = useLive(channel).rows;
  const isRunning =
    live.rows?.some(
      (redrive) => isOpen(redrive.state) && redrive.state !== "paused" && redrive.state !== "stopped",
    ) ?? false;
  // Resumed and stopped again within a second, its state is what it was: only its position tells.
  const states = Object.values(told ?? {})
    .filter((row) => row.job === "redrive")
    .map((row) => `${String(row.id)}:${String(row.state)}:${String(row.position)}`)
    .sort()
    .join();
  const { refetch } = read;
  useEffect(() => {
    if (states !== "") void refetch();
  }, [states, refetch]);
  useEffect(() => {
    if (!isRunning) return;
    const timer = window.setInterval(() => void refetch(), RUNNING_MS);
    return () => window.clearInterval(timer);
  }, [isRunning, refetch]);
  return { read, redrives: live.rows };
}
