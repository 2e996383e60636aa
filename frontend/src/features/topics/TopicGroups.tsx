/** Who reads a topic, and how far behind each is on it. */
import { Anchor, Tooltip } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { usePolling } from "@/shared/live/live";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Rate, Span } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { Tag } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

type Reader = components["schemas"]["TopicReader"];
const REREAD_MS = 5_000;
const MOST = 500;

export function TopicGroups({ cluster, topic }: { cluster: string; topic: string }) {
  const t = useTexts();
  const navigate = useNavigate();
  const read = useGet(
    "/clusters/{cluster}/topics/{topic}/groups/",
    { params: { cluster, topic }, query: { limit: MOST } },
    { refetchInterval: usePolling() || REREAD_MS },
  );
  const isStale = useIsStale(read.data?.freshness.sampled_at) && read.data !== undefined;
  return (
    <DataTable
      label={t("group.label", { topic })}
      columns={useColumns(cluster)}
      rows={read.data?.results}
      rowKey={(row) => row.group}
      error={read.error}
      onRetry={() => void read.refetch()}
      isStale={isStale}
      fill={false}
      onOpen={(row) =>
        void navigate({ to: "/clusters/$cluster/groups/$group", params: { cluster, group: row.group } })
      }
      empty={<EmptyState title={t("group.empty")}>{t("group.emptyDetail")}</EmptyState>}
    />
  );
}

function useColumns(cluster: string): readonly Column<Reader>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "group",
        title: t("group.name"),
        render: (row) => (
          <Anchor
            size="sm"
            title={row.group}
            renderRoot={(props) => (
              <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: row.group }} {...props} />
            )}
          >
            {row.group}
          </Anchor>
        ),
      },
      {
        key: "expression",
        title: t("group.expression"),
        width: 180,
        from: 720,
        render: (row) => <span className="sb-mono">{row.expression}</span>,
      },
      {
        key: "lag",
        title: t("group.lag"),
        width: 110,
        align: "right",
        render: (row) => <Lag of={row} />,
      },
      {
        key: "behind",
        title: t("group.behind"),
        width: 110,
        align: "right",
        render: (row) => <Span seconds={row.lag_s} why={t("group.behindWhy")} />,
      },
      {
        key: "rate",
        title: t("group.rate"),
        width: 110,
        from: 560,
        align: "right",
        render: (row) => <Rate value={row.consume_rate} />,
      },
      {
        key: "eta",
        title: t("group.eta"),
        width: 120,
        from: 640,
        align: "right",
        render: (row) => <Eta row={row} />,
      },
    ],
    [t, cluster],
  );
}

function Eta({ row }: { row: Reader }) {
  const t = useTexts();
  if (row.never_clears) {
    return (
      <Tooltip label={t("group.neverWhy")}>
        <span>
          <Tag tone="bad">{t("group.never")}</Tag>
        </span>
      </Tooltip>
    );
  }
  if (row.lag === "0") return <Tag tone="ok">{t("group.clear")}</Tag>;
  return <Span seconds={row.eta_s} why={t("group.etaWhy")} />;
}
