/** Operations as they are now: what was read, with what the socket told since; and the lines that steps wrote. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { type Answer, get } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { ProblemError } from "@/shared/api/problem";
import { POLL_MS, useLive, usePolling } from "@/shared/live/live";
import type { Row } from "@/shared/live/messages";

export type Operation = Answer<"/operations/{operation}/">;
export type Step = Operation["steps"][number];
export type Line = Answer<"/operations/{operation}/lines/">["results"][number];

const OVER = new Set(["succeeded", "cancelled", "rolled_back"]);

export function isOver(state: string): boolean {
  return OVER.has(state);
}

export function useOperation(id: string) {
  const polling = usePolling();
  const live = useLive(`operation/${id}`);
  const refetchInterval = live.error === null ? polling : POLL_MS;
  const read = useGet("/operations/{operation}/", { params: { operation: id } }, { refetchInterval });
  const operation = read.data && live.rows ? withLive(read.data, live.rows) : read.data;
  const { refetch } = read;
  // Steps that undo others are made when somebody rolls back: the read is older than they are.
  const isMissing = read.data !== undefined && live.rows !== undefined && hasOthers(read.data, live.rows);
  useEffect(() => {
    if (isMissing) void refetch();
  }, [isMissing, refetch]);
  return { ...read, operation };
}

/** What is newer wins: revisions only rise. */
export function withLive(operation: Operation, rows: Record<string, Row>): Operation {
  const news = rows[""];
  if (news === undefined || Number(news.revision) < Number(operation.revision)) return operation;
  const steps = operation.steps.map((step) => ({ ...step, ...rows[`step-${step.id}`], id: step.id }) as Step);
  return { ...operation, ...news, id: operation.id, steps } as Operation;
}

function hasOthers(operation: Operation, rows: Record<string, Row>): boolean {
  const known = new Set(operation.steps.map((step) => `step-${step.id}`));
  return Object.keys(rows).some((name) => name !== "" && !known.has(name));
}

const PAGE = 500;
const keyOf = (id: string) => ["/operations/{operation}/lines/", id] as const;

/** All lines; each time only what came after the last one is asked for. */
export function useLines(id: string, revision: string | undefined, isRunning: boolean) {
  const client = useQueryClient();
  const read = useQuery<Line[], ProblemError>({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => moreLines(client, id, signal),
    structuralSharing: false,
    staleTime: Infinity,
    refetchInterval: isRunning ? 2_000 : false,
  });
  useEffect(() => {
    if (revision !== undefined) void client.invalidateQueries({ queryKey: keyOf(id) });
  }, [client, id, revision]);
  return read;
}

async function moreLines(client: QueryClient, id: string, signal: AbortSignal): Promise<Line[]> {
  let lines = client.getQueryData<Line[]>(keyOf(id)) ?? [];
  for (;;) {
    const after = lines[lines.length - 1]?.id ?? "0";
    const query = { after: after as unknown as number, limit: PAGE };
    const page = await get("/operations/{operation}/lines/", { params: { operation: id }, query, signal });
    if (page.results.length > 0) lines = [...lines, ...page.results];
    if (page.results.length < PAGE) return lines;
  }
}
