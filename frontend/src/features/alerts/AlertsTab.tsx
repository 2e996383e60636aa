/** What fires now. Told by the socket; read anew when something came or went. */
import { Button } from "@mantine/core";
import { IconBellOff, IconCircleCheck } from "@tabler/icons-react";
import { useEffect, useMemo, useState } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useLive, usePolling } from "@/shared/live/live";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { type Alert, AlertState, Severity } from "./badges";
import { SilenceForm } from "./SilenceForm";
import { useTexts } from "./texts";

export function AlertsTab({ cluster }: { cluster: string }) {
  const t = useTexts();
  const [silenced, silence] = useState<Alert | null>(null);
  const read = useGet(
    "/alerts/",
    { query: { cluster, state: "open", limit: 500 } },
    { refetchInterval: usePolling() },
  );
  const live = useLive("alerts");
  const told = Object.entries(live.rows ?? {})
    .map(([id, row]) => `${id}:${String(row.state)}:${String(row.is_silenced)}`)
    .sort()
    .join();
  const { refetch } = read;
  useEffect(() => {
    if (live.rows !== undefined) void refetch();
    // Only what came, went or changed its state is a reason.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [told, refetch]);
  const columns = useColumns(cluster, silence);
  return (
    <>
      <DataTable
        label={t("open.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(alert) => alert.id}
        rowName={(alert) => alert.summary}
        error={read.error}
        onRetry={() => void refetch()}
        empty={
          <EmptyState icon={<IconCircleCheck size={28} />} title={t("open.empty")}>
            {t("open.emptyDetail")}
          </EmptyState>
        }
      />
      <SilenceForm
        opened={silenced !== null}
        onClose={() => silence(null)}
        cluster={cluster}
        name={silenced?.name ?? "*"}
        rule={silenced?.rule ?? null}
      />
    </>
  );
}

function useColumns(cluster: string, silence: (alert: Alert) => void): Column<Alert>[] {
  const t = useTexts();
  const rights = useRights();
  return useMemo(
    () => [
      {
        key: "state",
        title: t("column.state"),
        width: 110,
        render: (row) => <AlertState state={row.state} />,
      },
      {
        key: "severity",
        title: t("column.severity"),
        width: 90,
        from: 520,
        render: (row) => <Severity severity={row.severity} />,
      },
      {
        key: "what",
        title: t("column.what"),
        render: (row) => (
          <span title={row.summary}>
            {row.is_silenced && <Tag>{t("open.silenced")}</Tag>} {row.summary}
          </span>
        ),
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
        width: 130,
        from: 420,
        render: (row) => <RelativeTime at={row.fired_at ?? row.since} />,
      },
      {
        key: "act",
        title: "",
        width: 110,
        from: 620,
        align: "right",
        render: (row) =>
          rights.may("operator", cluster, row.name) && (
            <Button
              variant="subtle"
              size="compact-xs"
              leftSection={<IconBellOff size={13} />}
              onClick={() => silence(row)}
            >
              {t("open.silence")}
            </Button>
          ),
      },
    ],
    [t, rights, cluster, silence],
  );
}
