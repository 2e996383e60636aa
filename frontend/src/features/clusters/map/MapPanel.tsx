/** The map with what chooses its topics: search, order, kind, how many; as a map or, for those who prefer it, a table. */
import { ActionIcon, Group, SegmentedControl, Select, Skeleton, Text } from "@mantine/core";
import { IconChevronLeft, IconChevronRight, IconHierarchy2 } from "@tabler/icons-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { useGet } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { namedChannel, useLive } from "@/shared/live/live";
import { mergeList } from "@/shared/live/messages";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { SearchOf } from "@/shared/url/search";
import type { LiveRow } from "../cluster_data";
import { type clusterSearch, COUNTS, KINDS, ORDERS } from "../search";
import { useTexts } from "../texts";
import { graphOf, type Routing, type Topic } from "./graph";
import classes from "./MapPanel.module.css";
import { NodeDetails } from "./NodeDetails";
import { TopicTable } from "./TopicTable";

const RoutingMap = lazy(() => import("./RoutingMap"));
/** Who is busiest changes, and who is connected: the list itself is read anew; its rows move in between. */
const LIST_MS = 15_000;

type Search = SearchOf<typeof clusterSearch>;

interface Props {
  cluster: string;
  brokers: readonly LiveRow[] | undefined;
  search: Search;
  setSearch: (changes: Partial<Search>) => void;
}

export function MapPanel({ cluster, brokers, search, setSearch }: Props) {
  const { read, topics } = useRouting(cluster, search);
  const graph = useMemo(
    () => (topics ? graphOf(topics, brokers ?? [], read.data?.producers ?? null) : undefined),
    [topics, brokers, read.data?.producers],
  );
  const nodes = useMemo(() => (graph ? Object.values(graph.columns).flat() : []), [graph]);
  const chosen = nodes.find((node) => node.id === search.node);
  return (
    <section className={classes.panel}>
      <Tools search={search} setSearch={setSearch} count={read.data?.count} />
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      <div className={classes.frame}>
        <Shown
          {...{ cluster, search, topics, graph }}
          isEmpty={isEmpty(read.data, search)}
          onChoose={(node) => setSearch({ node })}
        />
        {chosen && search.view === "map" && (
          <NodeDetails cluster={cluster} node={chosen} onClose={() => setSearch({ node: "" })} />
        )}
      </div>
    </section>
  );
}

function isEmpty(routing: Routing | undefined, search: Search): boolean {
  return routing !== undefined && routing.count === 0 && search.search === "" && search.kind === "normal";
}

function useRouting(cluster: string, search: Search) {
  const limit = Number(search.count);
  const query = {
    search: search.search,
    kind: search.kind,
    ordering: search.order,
    limit,
    offset: (search.page - 1) * limit,
  };
  const read = useGet(
    "/clusters/{cluster}/routing/",
    { params: { cluster }, query },
    { keepPrevious: true, refetchInterval: LIST_MS },
  );
  const results = useStandingOrder(read.data?.results);
  const names = useMemo(() => results?.map((row) => row.topic) ?? [], [results]);
  const live = useLive(namedChannel("routing", cluster, names));
  const topics = useMemo(
    () => (results && live.rows ? mergeList(results, live.rows, (row) => row.topic) : results),
    [results, live.rows],
  );
  return { read, topics };
}

/** The same topics keep their places: rates that are nearly equal must not make the map jump. */
function useStandingOrder(results: Topic[] | undefined): Topic[] | undefined {
  const [standing, setStanding] = useState<string[]>([]);
  const names = results?.map((row) => row.topic);
  const isSame = names?.length === standing.length && names.every((name) => standing.includes(name));
  if (names !== undefined && !isSame) setStanding(names);
  return useMemo(() => {
    if (!isSame || results === undefined) return results;
    const rows = new Map(results.map((row) => [row.topic, row]));
    return standing.flatMap((name) => rows.get(name) ?? []);
  }, [results, standing, isSame]);
}

interface ShownProps {
  cluster: string;
  search: Search;
  topics: readonly Topic[] | undefined;
  graph: ReturnType<typeof graphOf> | undefined;
  isEmpty: boolean;
  onChoose: (node: string) => void;
}

function Shown({ cluster, search, topics, graph, isEmpty, onChoose }: ShownProps) {
  const t = useTexts();
  const shared = useShared();
  const waiting = <Skeleton height="100%" radius={0} role="status" aria-label={shared("loading")} />;
  if (topics === undefined || graph === undefined) return waiting;
  const hasNone = topics.length === 0;
  if (hasNone && (!isEmpty || search.view === "table" || graph.columns.brokers.length === 0)) {
    return (
      <EmptyState
        icon={<IconHierarchy2 size={28} />}
        title={isEmpty ? t("map.empty") : shared("table.nothingFits")}
      >
        {isEmpty && t("map.emptyDetail")}
      </EmptyState>
    );
  }
  if (search.view === "table") return <TopicTable cluster={cluster} topics={topics} />;
  return (
    <Suspense fallback={waiting}>
      <RoutingMap graph={graph} chosen={search.node} onChoose={onChoose} />
    </Suspense>
  );
}

function Tools({
  search,
  setSearch,
  count,
}: Pick<Props, "search" | "setSearch"> & { count: number | undefined }) {
  const t = useTexts();
  return (
    <Toolbar>
      <SearchBox
        value={search.search}
        onChange={(text) => setSearch({ search: text, node: "" })}
        placeholder={t("map.search")}
      />
      <Select
        aria-label={t("map.order")}
        value={search.order}
        onChange={(order) => setSearch({ order: order as Search["order"], page: 1 })}
        data={ORDERS.map((one) => ({
          value: one,
          label: t(`map.orders.${one.replace("-", "")}` as "map.orders.rate"),
        }))}
        w={150}
      />
      <Select
        aria-label={t("map.kindLabel")}
        value={search.kind}
        onChange={(kind) => setSearch({ kind: kind as Search["kind"], page: 1, node: "" })}
        data={KINDS.map((one) => ({ value: one, label: t(`map.kinds.${one}`) }))}
        w={140}
      />
      <Select
        aria-label={t("map.count")}
        value={search.count}
        onChange={(one) => setSearch({ count: one as Search["count"], page: 1 })}
        data={[...COUNTS]}
        w={70}
      />
      <SegmentedControl
        aria-label={t("map.view")}
        value={search.view}
        onChange={(view) => setSearch({ view: view as Search["view"], page: search.page })}
        data={[
          { value: "map", label: t("map.asMap") },
          { value: "table", label: t("map.asTable") },
        ]}
      />
      <Pages search={search} setSearch={setSearch} count={count} />
    </Toolbar>
  );
}

function Pages({
  search,
  setSearch,
  count,
}: Pick<Props, "search" | "setSearch"> & { count: number | undefined }) {
  const t = useTexts();
  const locale = useLocale();
  if (count === undefined) return null;
  const size = Number(search.count);
  const last = Math.min(count, search.page * size);
  const words = {
    first: formatCount(count === 0 ? 0 : (search.page - 1) * size + 1, locale),
    last: formatCount(last, locale),
    count: formatCount(count, locale),
  };
  return (
    <Group gap={4} ml="auto" wrap="nowrap">
      <Text size="xs" c="dimmed" className="sb-figure">
        {t("map.counted", words)}
      </Text>
      <ActionIcon
        aria-label={t("map.previous")}
        disabled={search.page <= 1}
        onClick={() => setSearch({ page: search.page - 1 })}
      >
        <IconChevronLeft size={16} />
      </ActionIcon>
      <ActionIcon
        aria-label={t("map.next")}
        disabled={last >= count}
        onClick={() => setSearch({ page: search.page + 1 })}
      >
        <IconChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}
