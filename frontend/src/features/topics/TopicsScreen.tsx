/** All topics of a cluster: one read per page, the rows on the screen kept fresh by the socket. */
import { Button, Select, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconStack2 } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { later } from "@/shared/format/times";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { SearchBox, Toolbar, WordBox } from "@/shared/list/Toolbar";
import { namedChannel, useLiveList, usePolling } from "@/shared/live/live";
import { useShared } from "@/shared/texts/shared";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import type { SearchOf } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { CreateTopic } from "./CreateTopic";
import { TOPIC_KINDS, topicsQuery, topicsSearch } from "./search";
import { useTexts } from "./texts";
import { useTopicColumns } from "./topic_columns";

/** Live rows change in place; topics that come, go or trade places are read anew as often as the collector asks. */
const REREAD_MS = 15_000;
const NO_FILTERS = { search: "", kind: "normal", favourites: false, owner: "", team: "" } as const;
type TopicsSearch = SearchOf<typeof topicsSearch>;

export function TopicsScreen() {
  const { cluster = "" } = useParams({ strict: false });
  const t = useTexts();
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(topicsSearch);
  const [visible, setVisible] = useState<string[]>([]);
  const [isCreating, create] = useDisclosure(false);
  const page = useGet(
    "/clusters/{cluster}/topics/",
    { params: { cluster }, query: topicsQuery(search) },
    { keepPrevious: true, refetchInterval: usePolling() || REREAD_MS },
  );
  const live = useLiveList(page.data?.results, namedChannel("topics", cluster, visible), (row) => row.name);
  const sampledAt = later(page.data?.freshness.sampled_at, live.sampledAt);
  const isStale = useIsStale(sampledAt) && page.data !== undefined;
  const isFiltered = search.search !== "" || search.favourites || search.owner !== "" || search.team !== "";
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
        sampledAt={page.data === undefined ? undefined : sampledAt}
        actions={
          <IfMay role="operator" cluster={cluster} somewhere>
            <Button leftSection={<IconPlus size={14} />} onClick={create.open}>
              {t("list.create")}
            </Button>
          </IfMay>
        }
      />
      <Filters search={search} setSearch={setSearch} />
      <DataTable
        label={t("list.label", { cluster })}
        columns={useTopicColumns(cluster)}
        rows={live.rows}
        rowKey={(row) => row.name}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isPlaceholderData}
        isStale={isStale}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as TopicsSearch["sort"] })}
        onOpen={(row) =>
          void navigate({ to: "/clusters/$cluster/topics/$topic", params: { cluster, topic: row.name } })
        }
        onVisible={setVisible}
        onClearFilters={isFiltered || search.kind !== "normal" ? () => setSearch(NO_FILTERS) : undefined}
        empty={
          <EmptyState icon={<IconStack2 size={28} />} title={t("list.empty")}>
            {t("list.emptyDetail")}
          </EmptyState>
        }
        count={page.data?.count}
        offset={(search.page - 1) * search.size}
      />
      <Pager page={search.page} size={search.size} count={page.data?.count} onChange={setSearch} />
      {isCreating && <CreateTopic cluster={cluster} onClose={create.close} />}
    </Page>
  );
}

interface FilterProps {
  search: TopicsSearch;
  setSearch: (changes: Partial<TopicsSearch>) => void;
}

function Filters({ search, setSearch }: FilterProps) {
  const t = useTexts();
  const shared = useShared();
  return (
    <Toolbar>
      <SearchBox
        value={search.search}
        onChange={(text) => setSearch({ search: text })}
        placeholder={t("list.search")}
      />
      <Select
        aria-label={t("list.kind")}
        w={150}
        value={search.kind}
        onChange={(kind) => setSearch({ kind: kind as TopicsSearch["kind"] })}
        data={[
          { value: "all", label: t("list.allKinds") },
          ...TOPIC_KINDS.map((kind) => ({ value: kind, label: t(`kind.${kind}`) })),
        ]}
      />
      <WordBox label={t("list.owner")} value={search.owner} onChange={(owner) => setSearch({ owner })} />
      <WordBox label={t("list.team")} value={search.team} onChange={(team) => setSearch({ team })} />
      <Switch
        label={shared("favourite.only")}
        checked={search.favourites}
        onChange={(event) => setSearch({ favourites: event.currentTarget.checked })}
      />
    </Toolbar>
  );
}
