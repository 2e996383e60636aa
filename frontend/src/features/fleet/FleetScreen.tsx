/** All clusters on one page: which of them needs a look, and how busy they are. */
import { Button, Select } from "@mantine/core";
import { IconPlus, IconStack3 } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { DataTable } from "@/shared/list/DataTable";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { useSearchState } from "@/shared/url/use_search";
import { useFleetColumns } from "./fleet_columns";
import { chosenRows, totalsOf } from "./fleet_rows";
import { FleetTiles } from "./FleetTiles";
import { fleetSearch } from "./search";
import { useTexts } from "./texts";
import { useFleet } from "./use_fleet";

const HEALTHS = ["ok", "degraded", "down", "unknown"] as const;
const ANY = "any";

export function FleetScreen() {
  const t = useTexts();
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(fleetSearch);
  const canMake = useRights().mayOnSomeCluster("admin");
  const fleet = useFleet();
  const columns = useFleetColumns();
  const totals = useMemo(() => totalsOf(fleet.rows ?? []), [fleet.rows]);
  const rows = useMemo(
    () => fleet.rows && chosenRows(fleet.rows, search.search, search.health, search.sort),
    [fleet.rows, search],
  );
  const isStale = useIsStale(totals.sampledAt);
  const isFiltered = search.search !== "" || search.health !== null;
  const hasClusters = (fleet.rows?.length ?? 0) > 0;
  return (
    <Page>
      <PageHeader
        title={t("title")}
        sampledAt={hasClusters ? totals.sampledAt : undefined}
        actions={canMake ? <NewCluster /> : undefined}
      />
      {hasClusters && <FleetTiles totals={totals} isStale={isStale} />}
      {hasClusters && (
        <Toolbar>
          <SearchBox
            value={search.search}
            onChange={(text) => setSearch({ search: text })}
            placeholder={t("search")}
          />
          <Select
            aria-label={t("health.label")}
            data={[
              { value: ANY, label: t("health.all") },
              ...HEALTHS.map((value) => ({ value, label: t(`health.${value}`) })),
            ]}
            value={search.health ?? ANY}
            onChange={(value) => setSearch({ health: HEALTHS.find((one) => one === value) ?? null })}
            w={140}
          />
        </Toolbar>
      )}
      <DataTable
        label={t("title")}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.name}
        error={fleet.error}
        onRetry={() => void fleet.refetch()}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(row) => void navigate({ to: "/clusters/$cluster", params: { cluster: row.name } })}
        onClearFilters={isFiltered ? () => setSearch({ search: "", health: null }) : undefined}
        empty={<Empty />}
      />
    </Page>
  );
}

function NewCluster() {
  const t = useTexts();
  return (
    <Button
      leftSection={<IconPlus size={14} />}
      renderRoot={(props) => <Link to="/clusters/new" {...props} />}
    >
      {t("newCluster")}
    </Button>
  );
}

function Empty() {
  const t = useTexts();
  const canMake = useRights().mayOnSomeCluster("admin");
  return (
    <EmptyState
      icon={<IconStack3 size={32} />}
      title={t("empty.title")}
      action={canMake ? <NewCluster /> : undefined}
    >
      {t(canMake ? "empty.detail" : "empty.nothingForYou")}
    </EmptyState>
  );
}
