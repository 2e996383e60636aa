/** Who did what: filtered, looked into, verified, exported. Nothing here changes a row. */
import { Button, Group, Menu, Text } from "@mantine/core";
import { IconChevronDown, IconDownload, IconHistory } from "@tabler/icons-react";
import { useMemo } from "react";
import { addressOf } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { PlainText } from "@/shared/ui/TextBody";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { EntryDrawer } from "./EntryDrawer";
import { type Entry, OutcomeBadge } from "./EntryOutcome";
import { type AuditSearch, filtersOf, isFiltered, NO_FILTERS } from "./filters";
import { Filters } from "./Filters";
import { auditSearch } from "./search";
import { useTexts } from "./texts";
import { Verify } from "./Verify";

export function AuditScreen() {
  const t = useTexts();
  const { search, setSearch } = useSearchState(auditSearch);
  const page = useGet(
    "/audit/",
    { query: { ...filtersOf(search), ...pageQuery(search) } },
    { keepPrevious: true },
  );
  const columns = useColumns();
  return (
    <Page>
      <PageHeader
        title={t("title")}
        actions={
          <>
            <IfMay role="admin">
              <Verify />
            </IfMay>
            <ExportMenu search={search} />
          </>
        }
      >
        <Text size="sm" c="dimmed">
          {t("intro")}
        </Text>
      </PageHeader>
      <Filters
        key={JSON.stringify(filtersOf(search))}
        search={search}
        onFind={(changes) => setSearch(changes, { replace: false })}
      />
      <DataTable
        label={t("label")}
        columns={columns}
        rows={page.data?.results}
        rowKey={(row) => row.id}
        rowName={(row) => `${row.action} ${row.id}`}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isPlaceholderData}
        onOpen={(row) => setSearch({ entry: row.id, page: search.page }, { replace: false })}
        onClearFilters={isFiltered(search) ? () => setSearch(NO_FILTERS) : undefined}
        count={page.data?.count}
        offset={pageQuery(search).offset}
        empty={<EmptyState icon={<IconHistory size={28} />} title={t("empty")} />}
      />
      <Pager page={search.page} size={search.size} count={page.data?.count} onChange={setSearch} />
      <EntryDrawer
        id={search.entry}
        onOpen={(entry) => setSearch({ entry, page: search.page }, { replace: false })}
        onClose={() => setSearch({ entry: "", page: search.page }, { replace: false })}
      />
    </Page>
  );
}

function useColumns(): Column<Entry>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "at", title: t("column.at"), width: 170, render: (row) => <ExactTime at={row.at} /> },
      {
        key: "actor",
        title: t("column.actor"),
        width: 130,
        from: 420,
        render: (row) => <span title={row.actor}>{row.actor}</span>,
      },
      {
        key: "action",
        title: t("column.action"),
        width: 190,
        render: (row) => <span className="sb-mono">{row.action}</span>,
      },
      { key: "cluster", title: t("column.cluster"), width: 130, from: 760, render: (row) => row.cluster },
      {
        key: "target",
        title: t("column.target"),
        from: 560,
        render: (row) => (
          <span title={row.target}>
            <PlainText text={row.target} />
          </span>
        ),
      },
      {
        key: "outcome",
        title: t("column.outcome"),
        width: 140,
        from: 480,
        render: (row) => <OutcomeBadge entry={row} />,
      },
      { key: "address", title: t("column.address"), width: 130, from: 980, render: (row) => row.address },
      { key: "id", title: t("column.id"), width: 80, align: "right", from: 880, render: (row) => row.id },
    ],
    [t],
  );
}

function ExportMenu({ search }: { search: AuditSearch }) {
  const t = useTexts();
  const address = (format: "ndjson" | "csv") =>
    addressOf("/audit/export/", {}, { ...filtersOf(search), format });
  return (
    <Group>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconDownload size={14} />}
            rightSection={<IconChevronDown size={13} />}
          >
            {t("export.label")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown maw={260}>
          <Menu.Label>{t("export.hint")}</Menu.Label>
          <Menu.Item component="a" href={address("ndjson")} download>
            {t("export.ndjson")}
          </Menu.Item>
          <Menu.Item component="a" href={address("csv")} download>
            {t("export.csv")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
