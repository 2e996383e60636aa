/** Operations of one cluster, the newest first; running ones move by themselves. */
import { Progress, Select } from "@mantine/core";
import { IconListCheck } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { Toolbar } from "@/shared/list/Toolbar";
import { useLive, usePolling } from "@/shared/live/live";
import { mergeList } from "@/shared/live/messages";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Span } from "@/shared/ui/Figure";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { useNow } from "@/shared/ui/use_now";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { OperationState, useKindWord } from "./OperationState";
import { KINDS, operationsSearch, STATES } from "./search";
import { tookOf } from "./steps";
import { useTexts } from "./texts";

type Row = Answer<"/clusters/{cluster}/operations/">["results"][number];

export function OperationsScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(operationsSearch);
  const { read, rows } = useOperations(cluster, search);
  const columns = useColumns();
  const isFiltered = search.state !== null || search.kind !== null;
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
      />
      <Toolbar>
        <Filter
          label={t("filterState")}
          all={t("state.all")}
          values={STATES}
          value={search.state}
          onChange={(state) => setSearch({ state })}
          word={(state) => t(`state.${state}`)}
        />
        <Filter
          label={t("filterKind")}
          all={t("kind.all")}
          values={KINDS}
          value={search.kind}
          onChange={(kind) => setSearch({ kind })}
          word={(kind) => t(`kind.${kind}`)}
        />
      </Toolbar>
      <DataTable
        label={t("list", { cluster })}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.id ?? ""}
        rowName={(row) => row.summary}
        error={read.error}
        onRetry={() => void read.refetch()}
        isFetching={read.isPlaceholderData}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(row) => void navigate({ to: "/operations/$id", params: { id: row.id ?? "" } })}
        onClearFilters={isFiltered ? () => setSearch({ state: null, kind: null }) : undefined}
        empty={
          <EmptyState icon={<IconListCheck size={28} />} title={t("empty")}>
            {t("emptyDetail")}
          </EmptyState>
        }
        count={read.data?.count}
        offset={(search.page - 1) * search.size}
      />
      <Pager page={search.page} size={search.size} count={read.data?.count} onChange={setSearch} />
    </Page>
  );
}

type Search = ReturnType<typeof useSearchState<typeof operationsSearch.shape>>["search"];

function useOperations(cluster: string, search: Search) {
  const polling = usePolling();
  const query = {
    ...pageQuery(search),
    ordering: search.sort,
    state: search.state ?? undefined,
    kind: search.kind ?? undefined,
  };
  const asked = { params: { cluster }, query };
  const read = useGet("/clusters/{cluster}/operations/", asked, {
    keepPrevious: true,
    refetchInterval: polling,
  });
  const live = useLive(`operations/${encodeURIComponent(cluster)}`);
  const rows = useMemo(
    () =>
      read.data && live.rows
        ? mergeList(read.data.results, live.rows, (row) => row.id ?? "")
        : read.data?.results,
    [read.data, live.rows],
  );
  // Counts of steps, and operations that are new, are only in the list itself: it is read again when something moved.
  const moved = Object.values(live.rows ?? {})
    .map((row) => `${String(row.id)}:${String(row.state)}:${String(row.revision)}`)
    .join();
  const { refetch } = read;
  useEffect(() => {
    if (moved !== "") void refetch();
  }, [moved, refetch]);
  return { read, rows };
}

interface FilterProps<T extends string> {
  label: string;
  all: string;
  values: readonly T[];
  value: T | null;
  onChange: (value: T | null) => void;
  word: (value: T) => string;
}

function Filter<T extends string>({ label, all, values, value, onChange, word }: FilterProps<T>) {
  return (
    <Select
      aria-label={label}
      data={[{ value: "", label: all }, ...values.map((one) => ({ value: one as string, label: word(one) }))]}
      value={value ?? ""}
      onChange={(chosen) => onChange(chosen ? (chosen as T) : null)}
      w={170}
    />
  );
}

function useColumns(): Column<Row>[] {
  const t = useTexts();
  const kindWord = useKindWord();
  return useMemo(
    () => [
      {
        key: "state",
        title: t("column.state"),
        width: 140,
        sort: "state",
        render: (row) => <OperationState state={row.state} />,
      },
      {
        key: "summary",
        title: t("column.summary"),
        render: (row) => <span title={row.summary}>{row.summary}</span>,
      },
      {
        key: "kind",
        title: t("column.kind"),
        width: 110,
        from: 760,
        sort: "kind",
        render: (row) => kindWord(row.kind),
      },
      {
        key: "steps",
        title: t("column.steps"),
        width: 130,
        from: 560,
        render: (row) => <StepBar row={row} />,
      },
      { key: "by", title: t("column.by"), width: 120, from: 900, render: (row) => row.created_by },
      {
        key: "begun",
        title: t("column.begun"),
        width: 130,
        sort: "created_at",
        largestFirst: true,
        render: (row) => <RelativeTime at={row.created_at} />,
      },
      {
        key: "took",
        title: t("column.took"),
        width: 100,
        from: 700,
        align: "right",
        render: (row) => <Took row={row} />,
      },
    ],
    [t, kindWord],
  );
}

function StepBar({ row }: { row: Row }) {
  const t = useTexts();
  const words = { done: row.done_count ?? 0, all: row.step_count ?? 0 };
  if (words.all === 0) return null;
  return (
    <span style={{ display: "grid", gridTemplateColumns: "1fr auto", gap: 8, alignItems: "center" }}>
      <Progress
        value={(100 * words.done) / words.all}
        size={4}
        color={row.state === "failed" ? "red" : undefined}
        aria-label={t("stepsLabel", words)}
      />
      <span className="sb-figure">{t("steps", words)}</span>
    </span>
  );
}

function Took({ row }: { row: Row }) {
  const now = useNow();
  return <Span seconds={tookOf(row.created_at, row.finished_at, now)} />;
}
