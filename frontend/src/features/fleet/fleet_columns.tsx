/** Columns of the fleet. */
import { Anchor, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Column } from "@/shared/list/columns";
import { AgeBadge } from "@/shared/ui/AgeBadge";
import { Count, Rate, Ratio } from "@/shared/ui/Figure";
import { ShareBar } from "@/shared/ui/ShareBar";
import { StateBadge, Tag, type Tone } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import type { FleetRow } from "./fleet_rows";
import { useTexts } from "./texts";

export function useFleetColumns(): readonly Column<FleetRow>[] {
  const t = useTexts();
  return useMemo<Column<FleetRow>[]>(
    () => [
      { key: "name", title: t("column.name"), sort: "name", render: (row) => <Name row={row} /> },
      {
        key: "health",
        title: t("column.health"),
        width: 118,
        sort: "health",
        render: (row) => <StateBadge state={row.health} why={row.health_reason || row.error || undefined} />,
      },
      { ...figure("put_rate", t("column.in"), 92, (row) => <Rate value={row.put_rate} />), from: 480 },
      { ...figure("got_rate", t("column.out"), 92, (row) => <Rate value={row.got_rate} />), from: 560 },
      figure("lag", t("column.lag"), 104, (row) => <Count value={row.lag} short why={t("hidden")} />),
      {
        key: "behind",
        title: t("column.behind"),
        width: 180,
        from: 1180,
        render: (row) => <Behind row={row} />,
      },
      { ...figure("disk_ratio", t("column.disk"), 108, (row) => <Disk ratio={row.disk_ratio} />), from: 720 },
      {
        ...plain("brokers", t("column.brokers"), 76, (row) => <Count value={row.broker_count} />),
        from: 820,
      },
      {
        ...plain("topics", t("column.topics"), 76, (row) => (
          <Count value={row.topic_count} why={t("hidden")} />
        )),
        from: 900,
      },
      {
        ...plain("groups", t("column.groups"), 76, (row) => (
          <Count value={row.group_count} why={t("hidden")} />
        )),
        from: 980,
      },
      {
        key: "versions",
        title: t("column.versions"),
        width: 92,
        from: 1080,
        render: (row) => <Versions row={row} />,
      },
      { ...plain("alerts", t("column.alerts"), 72, (row) => <Alerts row={row} />), from: 640 },
      {
        key: "age",
        title: t("column.age"),
        width: 104,
        from: 760,
        render: (row) => <AgeBadge sampledAt={row.sampled_at} />,
      },
    ],
    [t],
  );
}

type Render = Column<FleetRow>["render"];

function plain(key: string, title: string, width: number, render: Render): Column<FleetRow> {
  return { key, title, width, align: "right", render };
}

function figure(key: string, title: string, width: number, render: Render): Column<FleetRow> {
  return { ...plain(key, title, width, render), sort: key, largestFirst: true };
}

function Name({ row }: { row: FleetRow }) {
  const t = useTexts();
  return (
    <Group gap={8} wrap="nowrap">
      <Anchor
        fw={600}
        truncate
        title={row.name}
        renderRoot={(props) => <Link to="/clusters/$cluster" params={{ cluster: row.name }} {...props} />}
      >
        {row.name}
      </Anchor>
      <Tag>{row.kind === "managed" || row.kind === "attached" ? t(`kind.${row.kind}`) : row.kind}</Tag>
    </Group>
  );
}

function Behind({ row }: { row: FleetRow }) {
  const t = useTexts();
  const first = row.top_lag?.[0];
  if (row.top_lag === null) return <Unknown why={t("hidden")} />;
  if (first === undefined) return <span className="sb-stale">{t("nobodyBehind")}</span>;
  return (
    <Anchor
      size="sm"
      truncate
      display="block"
      title={first.group}
      renderRoot={(props) => (
        <Link
          to="/clusters/$cluster/groups/$group"
          params={{ cluster: row.name, group: first.group }}
          {...props}
        />
      )}
    >
      {first.group}
    </Anchor>
  );
}

const FULL = 0.9;
const FILLING = 0.75;

function Disk({ ratio }: { ratio: number | null }) {
  const tone: Tone = ratio === null ? "quiet" : ratio >= FULL ? "bad" : ratio >= FILLING ? "warn" : "ok";
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {ratio !== null && <ShareBar share={ratio} tone={tone} />}
      <Ratio value={ratio} />
    </Group>
  );
}

function Versions({ row }: { row: FleetRow }) {
  if (row.versions.length === 0) return <Unknown />;
  return <span title={row.versions.join(", ")}>{row.versions.join(", ")}</span>;
}

function Alerts({ row }: { row: FleetRow }) {
  const t = useTexts();
  if (row.firing_alerts === null) return <Unknown why={t("hidden")} />;
  if (row.firing_alerts === 0) return <span className="sb-stale">{t("noAlerts")}</span>;
  return <StateBadge tone="bad" label={String(row.firing_alerts)} />;
}
