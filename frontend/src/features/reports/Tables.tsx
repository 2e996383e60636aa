/** The tables of a run, page by page, and whole as files. */
import { Button, Group, Select, Text } from "@mantine/core";
import { IconDownload, IconTable } from "@tabler/icons-react";
import { useMemo } from "react";
import { addressOf } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { Toolbar } from "@/shared/list/Toolbar";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { PlainText } from "@/shared/ui/TextBody";
import { Unknown } from "@/shared/ui/Unknown";
import { pageQuery, type SearchOf } from "@/shared/url/search";
import type { SearchState } from "@/shared/url/use_search";
import classes from "./Report.module.css";
import type { RunDetail } from "./run_views";
import type { reportSearch } from "./search";
import { readable } from "./summary";
import { useTexts } from "./texts";

const TABLE = "/clusters/{cluster}/reports/runs/{id}/tables/{table}/";
type Line = { at: string; values: unknown[] };
type Props = { cluster: string; run: RunDetail } & SearchState<SearchOf<typeof reportSearch>>;

export function Tables(props: Props) {
  const t = useTexts();
  const { run, search } = props;
  const table = run.tables.find((one) => one.name === search.table) ?? run.tables[0];
  if (!table) return <EmptyState icon={<IconTable size={28} />} title={t("run.noTables")} />;
  return <OneTable key={table.name} {...props} table={table.name} />;
}

function OneTable({ cluster, run, table, search, setSearch }: Props & { table: string }) {
  const t = useTexts();
  const locale = useLocale();
  const params = { cluster, id: run.id, table };
  const read = useGet(TABLE, { params, query: pageQuery(search) }, { keepPrevious: true });
  const columns = useColumns(read.data?.columns ?? []);
  const offset = pageQuery(search).offset;
  const rows = useMemo(
    () => read.data?.rows.map((values, at): Line => ({ at: String(offset + at), values })),
    [read.data, offset],
  );
  const count = read.data === undefined ? undefined : Number(read.data.count);
  return (
    <>
      <Toolbar>
        <Select
          aria-label={t("run.table")}
          data={run.tables.map((one) => ({
            value: one.name,
            label: `${readable(one.name)} (${one.rows === null ? "?" : formatCount(one.rows, locale)})`,
          }))}
          value={table}
          allowDeselect={false}
          w={280}
          onChange={(chosen) => chosen && setSearch({ table: chosen, page: 1 })}
        />
        <Group gap="xs">
          {(["parquet", "csv"] as const).map((format) => (
            <Button
              key={format}
              component="a"
              variant="default"
              leftSection={<IconDownload size={14} />}
              href={addressOf(`${TABLE}download/`, params, { format })}
              download
            >
              {t("run.download", { format: format === "csv" ? "CSV" : "Parquet" })}
            </Button>
          ))}
        </Group>
        {read.data?.is_masked && <Text size="sm">{t("run.masked")}</Text>}
      </Toolbar>
      <DataTable
        label={readable(table)}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.at}
        error={read.error}
        onRetry={() => void read.refetch()}
        isFetching={read.isPlaceholderData}
        count={count}
        offset={offset}
      />
      <Pager page={search.page} size={search.size} count={count} onChange={setSearch} />
    </>
  );
}

function useColumns(columns: readonly { name: string; type: string }[]): Column<Line>[] {
  return useMemo(
    () =>
      columns.map((column, at) => ({
        key: column.name,
        title: readable(column.name),
        width: 170,
        align: /^(u?int|float|double|decimal)/.test(column.type) ? ("right" as const) : ("left" as const),
        render: (row) => <Cell value={row.values[at]} />,
      })),
    [columns],
  );
}

function Cell({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <Unknown />;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <span className={`${classes.cell} sb-figure`} title={text}>
      <PlainText text={text} />
    </span>
  );
}
