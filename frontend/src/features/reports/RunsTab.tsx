/** Runs of reports, the newest first; those that run move by themselves. */
import { Text } from "@mantine/core";
import { IconReportAnalytics } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { useLiveList, usePolling } from "@/shared/live/live";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Span } from "@/shared/ui/Figure";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { useNow } from "@/shared/ui/use_now";
import { pageQuery, type SearchOf } from "@/shared/url/search";
import type { SearchState } from "@/shared/url/use_search";
import { Range, type Run, ShortProgress, tookS, useReportName } from "./run_views";
import type { reportsSearch } from "./search";
import { useTexts } from "./texts";

type Props = { cluster: string } & SearchState<SearchOf<typeof reportsSearch>>;

export function RunsTab({ cluster, search, setSearch }: Props) {
  const t = useTexts();
  const navigate = useNavigate();
  const nameOf = useReportName();
  const read = useGet(
    "/clusters/{cluster}/reports/runs/",
    { params: { cluster }, query: { ordering: search.sort, ...pageQuery(search) } },
    { keepPrevious: true, refetchInterval: usePolling() },
  );
  const { rows } = useLiveList(read.data?.results, `reports/${encodeURIComponent(cluster)}`, (run) => run.id);
  return (
    <>
      <DataTable
        label={t("runs.label")}
        columns={useColumns()}
        rows={rows}
        rowKey={(run) => run.id}
        rowName={(run) => nameOf(run.report)}
        error={read.error}
        onRetry={() => void read.refetch()}
        isFetching={read.isPlaceholderData}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(run) =>
          void navigate({
            to: "/clusters/$cluster/reports/$run",
            params: { cluster, run: run.id },
            search: {},
          })
        }
        count={read.data?.count}
        offset={pageQuery(search).offset}
        empty={
          <EmptyState icon={<IconReportAnalytics size={28} />} title={t("runs.empty")}>
            {t("runs.emptyDetail")}
          </EmptyState>
        }
      />
      <Pager page={search.page} size={search.size} count={read.data?.count} onChange={setSearch} />
    </>
  );
}

function Took({ run }: { run: Run }) {
  return <Span seconds={tookS(run, useNow())} />;
}

function useColumns(): Column<Run>[] {
  const t = useTexts();
  const nameOf = useReportName();
  return useMemo(
    () => [
      {
        key: "report",
        title: t("column.report"),
        render: (run) => (
          <span>
            {nameOf(run.report)}{" "}
            {run.schedule !== null && (
              <Text span size="xs" className="sb-stale">
                {t("runs.bySchedule", { name: run.schedule })}
              </Text>
            )}
          </span>
        ),
      },
      { key: "state", title: t("column.state"), width: 200, render: (run) => <ShortProgress run={run} /> },
      { key: "range", title: t("column.range"), width: 260, from: 980, render: (run) => <Range run={run} /> },
      {
        key: "created",
        title: t("column.created"),
        width: 120,
        from: 560,
        sort: "created_at",
        largestFirst: true,
        render: (run) => <RelativeTime at={run.created_at} />,
      },
      {
        key: "took",
        title: t("column.took"),
        width: 90,
        from: 700,
        align: "right",
        render: (run) => <Took run={run} />,
      },
      { key: "by", title: t("column.by"), width: 130, from: 860, render: (run) => run.created_by },
      { key: "host", title: t("column.host"), width: 120, from: 1180, render: (run) => run.host ?? "" },
    ],
    [t, nameOf],
  );
}
