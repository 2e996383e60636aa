/** Groups that have dead letters, the most first. */
import { IconMailX } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useGet } from "@/shared/api/queries";
import { later } from "@/shared/format/times";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { namedChannel, useLiveList, usePolling } from "@/shared/live/live";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count, Rate } from "@/shared/ui/Figure";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import type { components } from "@/types/api.gen";
import { RedriveState } from "./RedriveState";
import { deadLettersSearch } from "./search";
import { useTexts } from "./texts";

type Row = components["schemas"]["DeadLetterGroup"];
/** Groups that come and go: as often as the collector asks. */
const REREAD_MS = 15_000;

export function DeadLettersScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(deadLettersSearch);
  const [visible, setVisible] = useState<string[]>([]);
  const query = { search: search.search, ordering: search.sort, ...pageQuery(search) };
  const page = useGet(
    "/clusters/{cluster}/dlq/",
    { params: { cluster }, query },
    { keepPrevious: true, refetchInterval: usePolling() || REREAD_MS },
  );
  const live = useLiveList(page.data?.results, namedChannel("topics", cluster, visible), (row) => row.topic);
  const sampledAt = later(page.data?.freshness.sampled_at, live.sampledAt);
  const isStale = useIsStale(sampledAt) && page.data !== undefined;
  const columns = useColumns();
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
        sampledAt={page.data === undefined ? undefined : sampledAt}
      />
      <Toolbar>
        <SearchBox
          value={search.search}
          placeholder={t("list.search")}
          onChange={(text) => setSearch({ search: text })}
        />
      </Toolbar>
      <DataTable
        label={t("list.label")}
        columns={columns}
        rows={live.rows}
        rowKey={(row) => row.topic}
        rowName={(row) => row.group}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isPlaceholderData}
        isStale={isStale}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(row) =>
          void navigate({
            to: "/clusters/$cluster/dead-letters/$group",
            params: { cluster, group: row.group },
          })
        }
        onClearFilters={search.search ? () => setSearch({ search: "" }) : undefined}
        onVisible={setVisible}
        empty={
          <EmptyState icon={<IconMailX size={28} />} title={t("list.empty")}>
            {t("list.emptyDetail")}
          </EmptyState>
        }
        count={page.data?.count}
        offset={pageQuery(search).offset}
      />
      <Pager page={search.page} size={search.size} count={page.data?.count} onChange={setSearch} />
    </Page>
  );
}

function useColumns(): Column<Row>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "group",
        title: t("column.group"),
        sort: "group",
        render: (row) => <span title={row.group}>{row.group}</span>,
      },
      {
        key: "messages",
        title: t("column.messages"),
        width: 130,
        align: "right",
        sort: "messages",
        largestFirst: true,
        render: (row) => <Count value={row.messages} why={t("why.messages")} short />,
      },
      {
        key: "rate",
        title: t("column.rate"),
        width: 110,
        align: "right",
        from: 520,
        sort: "put_rate",
        largestFirst: true,
        render: (row) => <Rate value={row.put_rate} why={t("why.rate")} />,
      },
      {
        key: "last",
        title: t("column.lastWrite"),
        width: 150,
        from: 640,
        sort: "last_write_at",
        largestFirst: true,
        render: (row) => <RelativeTime at={row.last_write_at} />,
      },
      {
        key: "redrive",
        title: t("column.redrive"),
        width: 170,
        from: 420,
        render: (row) => row.redrive && <RedriveState state={row.redrive as "running"} />,
      },
    ],
    [t],
  );
}
