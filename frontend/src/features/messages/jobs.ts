/** Search jobs as they are now: what was read, and what the socket told since. */
import { useEffect } from "react";
import { useGet } from "@/shared/api/queries";
import { toBigInt } from "@/shared/format/numbers";
import { useLive, useLiveList, usePolling } from "@/shared/live/live";
import type { components } from "@/types/api.gen";

export type Job = components["schemas"]["SearchJob"];

export function jobsChannel(cluster: string): string {
  return `jobs/${encodeURIComponent(cluster)}`;
}

export function useJobs(cluster: string) {
  const read = useGet(
    "/clusters/{cluster}/searches/",
    { params: { cluster }, query: { limit: 200 } },
    { refetchInterval: usePolling() },
  );
  const channel = jobsChannel(cluster);
  const live = useLiveList(read.data?.results, channel, (job) => job.id);
  const told = useLive(channel).rows;
  // What a job looks for is only in the list: it is read again when there are others than before.
  const ids = Object.values(told ?? {})
    .filter((row) => row.job === "search")
    .map((row) => String(row.id))
    .sort()
    .join();
  const { refetch } = read;
  useEffect(() => {
    if (ids !== "") void refetch();
  }, [ids, refetch]);
  return { read, jobs: live.rows };
}

export function isOpen(job: Pick<Job, "state">): boolean {
  return job.state === "queued" || job.state === "running";
}

/** Something is left that it has not looked at. */
export function canContinue(job: Pick<Job, "state" | "stopped">): boolean {
  return !isOpen(job) && job.stopped !== "end";
}

/** From 0 to 1; null: nobody knows how many there are. */
export function shareOf(job: Pick<Job, "scanned" | "estimate" | "stopped">): number | null {
  if (job.stopped === "end") return 1;
  if (job.estimate === null) return null;
  const all = toBigInt(job.estimate);
  if (all === 0n) return 1;
  return Math.min(1, Number((toBigInt(job.scanned) * 1000n) / all) / 1000);
}
