/**
 * History of brokers, topics and groups as a chart: `<SeriesChart title={…} cluster={…} range={search.range} format={…}
 * lines={[{ subject: "group", name, metric: "lag", label: t("…") }]} />`. Each line is one read, asked again while it is shown.
 */
import { Skeleton } from "@mantine/core";
import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback } from "react";
import { type Answer, get, type Request } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { serverNow } from "@/shared/format/clock";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { RANGES, type Range, rangeStart } from "./ranges";
import { TimeSeries } from "./TimeSeries";

const PATH = "/clusters/{cluster}/series/";
type Series = Answer<typeof PATH>;
type Query = NonNullable<Request<typeof PATH, "get">["query"]>;

export interface SeriesLine {
  subject: Query["subject"];
  /** Without one: the cluster itself. */
  name?: string;
  metric: Query["metric"];
  label: string;
}

interface Props {
  title: string;
  cluster: string;
  range: Range;
  lines: readonly SeriesLine[];
  format: (value: number) => string;
  height?: number;
}

/** As often as there are new points. */
const FINE_MS = 10_000;
const COARSE_MS = 60_000;

function seriesRead(cluster: string, { subject, name = "", metric }: SeriesLine, range: Range) {
  return {
    queryKey: [PATH, { cluster }, { subject, name, metric, range }],
    queryFn: ({ signal }: { signal: AbortSignal }): Promise<Series> =>
      get(PATH, {
        params: { cluster },
        query: { subject, name, metric, from: rangeStart(range, serverNow()) },
        signal,
      }),
    refetchInterval: RANGES[range] <= RANGES.h1 ? FINE_MS : COARSE_MS,
  };
}

/** The slot that is under way has no value yet: that is no gap. Points are stored when their slot is over. */
const STORED_AFTER_SLOTS = 3;

function known(series: Series | undefined): Series["points"] {
  const points = series?.points ?? [];
  const earliest = serverNow() / 1000 - (series?.resolution_s ?? 10) * STORED_AFTER_SLOTS;
  let end = points.length;
  while (end > 0 && points[end - 1]?.value === null && (points[end - 1]?.at ?? 0) >= earliest) end -= 1;
  return points.slice(0, end);
}

/** Put together by TanStack Query, which gives the same objects again until one of the reads is new. */
function together(lines: readonly SeriesLine[], reads: UseQueryResult<Series>[]) {
  const failed = reads.find((read) => read.isError && read.data === undefined);
  return {
    lines: lines.map((line, at) => ({ label: line.label, points: known(reads[at]?.data) })),
    resolutionS: Math.max(10, ...reads.map((read) => read.data?.resolution_s ?? 0)),
    isPending: reads.some((read) => read.data === undefined),
    error: failed?.error ?? null,
  };
}

export function SeriesChart({ title, cluster, range, lines, format, height = 180 }: Props) {
  const client = useQueryClient();
  const shown = useQueries({
    queries: lines.map((line) => seriesRead(cluster, line, range)),
    combine: useCallback((reads: UseQueryResult<Series>[]) => together(lines, reads), [lines]),
  });
  if (shown.error) return <ProblemAlert error={shown.error} onRetry={() => void refresh(client, PATH)} />;
  if (shown.isPending) return <Skeleton height={height + 24} />;
  return <TimeSeries {...{ title, format, height }} lines={shown.lines} resolutionS={shown.resolutionS} />;
}
