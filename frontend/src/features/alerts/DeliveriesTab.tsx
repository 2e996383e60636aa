/** What channels were told, and how that went. */
import { IconMailFast } from "@tabler/icons-react";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import { formatTime } from "@/shared/format/times";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { useRights } from "@/shared/session/session";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge } from "@/shared/ui/StateBadge";
import { pageQuery } from "@/shared/url/search";
import type { components } from "@/types/api.gen";
import type { PagedProps } from "./HistoryTab";
import { useTexts } from "./texts";

type Delivery = components["schemas"]["AlertDelivery"];
const TONES = { waiting: "info", sent: "ok", failed: "bad" } as const;
const REREAD_MS = 10_000;

export function DeliveriesTab({ search, setSearch }: PagedProps) {
  const t = useTexts();
  const maySee = useRights().may("viewer");
  const read = useGet(
    "/alerts/deliveries/",
    { query: pageQuery(search) },
    { keepPrevious: true, enabled: maySee, refetchInterval: REREAD_MS },
  );
  const columns = useColumns();
  if (!maySee) return <EmptyState icon={<IconMailFast size={28} />} title={t("deliveries.noRights")} />;
  return (
    <>
      <DataTable
        label={t("deliveries.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(row) => row.id}
        error={read.error}
        onRetry={() => void read.refetch()}
        isFetching={read.isPlaceholderData}
        count={read.data?.count}
        offset={pageQuery(search).offset}
        empty={<EmptyState icon={<IconMailFast size={28} />} title={t("deliveries.empty")} />}
      />
      <Pager page={search.page} size={search.size} count={read.data?.count} onChange={setSearch} />
    </>
  );
}

function useColumns(): Column<Delivery>[] {
  const t = useTexts();
  const locale = useLocale();
  return useMemo(
    () => [
      {
        key: "state",
        title: t("column.state"),
        width: 110,
        render: (row) => <StateBadge tone={TONES[row.state]} label={t(`deliveries.state.${row.state}`)} />,
      },
      { key: "channel", title: t("column.channel"), width: 180, render: (row) => row.channel },
      {
        key: "event",
        title: t("column.event"),
        width: 100,
        from: 460,
        render: (row) => t(`deliveries.event.${row.event}`),
      },
      {
        key: "attempts",
        title: t("column.attempts"),
        width: 90,
        align: "right",
        from: 620,
        render: (row) => row.attempts,
      },
      {
        key: "error",
        title: t("column.error"),
        render: (row) => (
          <span title={row.error}>
            {row.error}{" "}
            {row.next_attempt_at && t("deliveries.next", { time: formatTime(row.next_attempt_at, locale) })}
          </span>
        ),
      },
      {
        key: "at",
        title: t("column.at"),
        width: 130,
        from: 560,
        render: (row) => <RelativeTime at={row.created_at} />,
      },
    ],
    [t, locale],
  );
}
