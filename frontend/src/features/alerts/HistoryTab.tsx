/** Alerts that were: when they fired, how long they lasted. */
import { IconHistory } from "@tabler/icons-react";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Span } from "@/shared/ui/Figure";
import { ExactTime, RelativeTime } from "@/shared/ui/RelativeTime";
import { pageQuery, type SearchOf } from "@/shared/url/search";
import type { SearchState } from "@/shared/url/use_search";
import { type Alert, Severity } from "./badges";
import type { alertsSearch } from "./search";
import { useTexts } from "./texts";

export type PagedProps = SearchState<SearchOf<typeof alertsSearch>>;

export function HistoryTab({ cluster, search, setSearch }: { cluster: string } & PagedProps) {
  const t = useTexts();
  const read = useGet(
    "/alerts/",
    { query: { cluster, state: "resolved", ...pageQuery(search) } },
    { keepPrevious: true },
  );
  const columns = useColumns();
  return (
    <>
      <DataTable
        label={t("history.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(alert) => alert.id}
        rowName={(alert) => alert.summary}
        error={read.error}
        onRetry={() => void read.refetch()}
        isFetching={read.isPlaceholderData}
        count={read.data?.count}
        offset={pageQuery(search).offset}
        empty={<EmptyState icon={<IconHistory size={28} />} title={t("history.empty")} />}
      />
      <Pager page={search.page} size={search.size} count={read.data?.count} onChange={setSearch} />
    </>
  );
}

function lasted(alert: Alert): number | null {
  const began = alert.fired_at ?? alert.since;
  return alert.resolved_at === null
    ? null
    : Math.max(0, (Date.parse(alert.resolved_at) - Date.parse(began)) / 1000);
}

function useColumns(): Column<Alert>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "severity",
        title: t("column.severity"),
        width: 90,
        from: 460,
        render: (row) => <Severity severity={row.severity} />,
      },
      {
        key: "what",
        title: t("column.what"),
        render: (row) => <span title={row.summary}>{row.summary}</span>,
      },
      {
        key: "rule",
        title: t("column.rule"),
        width: 180,
        from: 720,
        render: (row) => <span title={row.rule}>{row.rule}</span>,
      },
      {
        key: "since",
        title: t("column.since"),
        width: 170,
        from: 560,
        render: (row) => <ExactTime at={row.fired_at ?? row.since} />,
      },
      {
        key: "lasted",
        title: t("column.lasted"),
        width: 100,
        align: "right",
        render: (row) => <Span seconds={lasted(row)} />,
      },
      {
        key: "resolved",
        title: t("column.resolved"),
        width: 130,
        from: 860,
        render: (row) => <RelativeTime at={row.resolved_at} />,
      },
    ],
    [t],
  );
}
