/** All consumer groups of a cluster: one read per page, the rows on the screen kept fresh by the socket. */
import { Button, Select, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconUsersGroup } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
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
import { CreateGroup } from "./CreateGroup";
import { withBehind } from "./group";
import { useGroupColumns } from "./group_columns";
import { groupsQuery, groupsSearch } from "./search";
import { useTexts } from "./texts";

/** Live rows change in place; groups that come, go or trade places are read anew as often as the collector asks. */
const REREAD_MS = 15_000;
const NO_FILTERS = {
  search: "",
  members: "any",
  system: false,
  favourites: false,
  owner: "",
  team: "",
} as const;
type GroupsSearch = SearchOf<typeof groupsSearch>;

export function GroupsScreen() {
  const { cluster = "" } = useParams({ strict: false });
  const t = useTexts();
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(groupsSearch);
  const [visible, setVisible] = useState<string[]>([]);
  const [isCreating, create] = useDisclosure(false);
  const page = useGet(
    "/clusters/{cluster}/groups/",
    { params: { cluster }, query: groupsQuery(search) },
    { keepPrevious: true, refetchInterval: usePolling() || REREAD_MS },
  );
  const live = useLiveList(page.data?.results, namedChannel("groups", cluster, visible), (row) => row.name);
  const sampledAt = later(page.data?.freshness.sampled_at, live.sampledAt);
  const rows = useMemo(() => withBehind(live.rows, sampledAt), [live.rows, sampledAt]);
  const isStale = useIsStale(sampledAt) && page.data !== undefined;
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
        columns={useGroupColumns(cluster)}
        rows={rows}
        rowKey={(row) => row.name}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isPlaceholderData}
        isStale={isStale}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as GroupsSearch["sort"] })}
        onOpen={(row) =>
          void navigate({ to: "/clusters/$cluster/groups/$group", params: { cluster, group: row.name } })
        }
        onVisible={setVisible}
        onClearFilters={isFiltered(search) ? () => setSearch(NO_FILTERS) : undefined}
        empty={
          <EmptyState icon={<IconUsersGroup size={28} />} title={t("list.empty")}>
            {t("list.emptyDetail")}
          </EmptyState>
        }
        count={page.data?.count}
        offset={(search.page - 1) * search.size}
      />
      <Pager page={search.page} size={search.size} count={page.data?.count} onChange={setSearch} />
      {isCreating && <CreateGroup cluster={cluster} onClose={create.close} />}
    </Page>
  );
}

function isFiltered(search: GroupsSearch): boolean {
  return Object.entries(NO_FILTERS).some(
    ([name, value]) => search[name as keyof typeof NO_FILTERS] !== value,
  );
}

interface FilterProps {
  search: GroupsSearch;
  setSearch: (changes: Partial<GroupsSearch>) => void;
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
        aria-label={t("list.membersLabel")}
        w={150}
        value={search.members}
        onChange={(members) => setSearch({ members: members as GroupsSearch["members"] })}
        data={(["any", "online", "offline"] as const).map((value) => ({
          value,
          label: t(`list.members.${value}`),
        }))}
      />
      <WordBox label={t("list.owner")} value={search.owner} onChange={(owner) => setSearch({ owner })} />
      <WordBox label={t("list.team")} value={search.team} onChange={(team) => setSearch({ team })} />
      <Switch
        label={shared("favourite.only")}
        checked={search.favourites}
        onChange={(event) => setSearch({ favourites: event.currentTarget.checked })}
      />
      <Switch
        label={t("list.system")}
        checked={search.system}
        onChange={(event) => setSearch({ system: event.currentTarget.checked })}
      />
    </Toolbar>
  );
}
