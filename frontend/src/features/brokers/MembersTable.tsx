/** Brokers, one line each; members of a group stand together. */
import { IconServerOff } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Bytes, Rate, Ratio, Span } from "@/shared/ui/Figure";
import { Unknown } from "@/shared/ui/Unknown";
import { useNow } from "@/shared/ui/use_now";
import { BrokerState, InSync, KeptMark, Marks, RoleTag } from "./BrokerBadges";
import type { Broker, useBrokers } from "./broker_data";
import { groupsOf, haOf, ratesOf, type Standing, standingOf } from "./broker_state";
import classes from "./Brokers.module.css";
import { useTexts } from "./texts";

interface Member {
  broker: Broker;
  standing: Standing;
  size: number;
}

export function MembersTable({ cluster, read }: { cluster: string; read: ReturnType<typeof useBrokers> }) {
  const t = useTexts();
  const navigate = useNavigate();
  const isStale = useIsStale(read.sampledAt) && read.data !== undefined;
  const rows = useMemo(() => read.brokers && membersOf(read.brokers), [read.brokers]);
  const columns = useColumns(cluster);
  return (
    <DataTable
      label={t("list", { cluster })}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.broker.label}
      error={read.error}
      onRetry={() => void read.refetch()}
      isStale={isStale}
      fill={false}
      onOpen={(row) =>
        void navigate({
          to: "/clusters/$cluster/brokers/$broker",
          params: { cluster, broker: row.broker.label },
        })
      }
      empty={
        <EmptyState icon={<IconServerOff size={28} />} title={t("empty")}>
          {t("emptyDetail")}
        </EmptyState>
      }
    />
  );
}

function membersOf(brokers: readonly Broker[]): Member[] {
  return [...groupsOf(brokers).values()].flatMap((members) =>
    members.map((broker) => ({ broker, standing: standingOf(broker, members), size: members.length })),
  );
}

function useColumns(cluster: string): Column<Member>[] {
  const t = useTexts();
  return useMemo(() => {
    const name: Column<Member> = {
      key: "broker",
      title: t("column.broker"),
      render: (row) => <BrokerName cluster={cluster} row={row} />,
    };
    const state: Column<Member> = {
      key: "state",
      title: t("column.state"),
      width: 138,
      render: (row) => <BrokerState broker={row.broker} />,
    };
    return [name, state, ...figureColumns(t), ...placeColumns(t)];
  }, [t, cluster]);
}

type Words = ReturnType<typeof useTexts>;

function figureColumns(t: Words): Column<Member>[] {
  const figure = (
    key: "put" | "got" | "disk" | "behind" | "uptime",
    width: number,
    from: number,
    render: (row: Member) => React.ReactNode,
  ): Column<Member> => ({ key, title: t(`column.${key}`), width, from, align: "right", render });
  // Figures of a broker that does not answer are old: they are shown as not known.
  const known = (row: Member, shown: React.ReactNode) =>
    row.broker.live?.is_reachable ? shown : <Unknown />;
  return [
    { key: "sync", title: t("column.inSync"), width: 104, from: 520, render: (row) => <Sync row={row} /> },
    figure("put", 84, 620, (row) => known(row, <Rate value={ratesOf(row.broker.live).put} />)),
    figure("got", 84, 620, (row) => known(row, <Rate value={ratesOf(row.broker.live).got} />)),
    figure("disk", 72, 700, (row) => known(row, <Ratio value={row.broker.live?.disk_ratio} />)),
    {
      key: "full",
      title: t("column.whenFull"),
      width: 150,
      from: 960,
      render: (row) => known(row, <KeptMark live={row.broker.live} short />),
    },
    figure("behind", 96, 780, (row) =>
      row.standing.isMaster ? null : <Bytes value={row.standing.behind} />,
    ),
    figure("uptime", 100, 900, (row) => <Uptime row={row} />),
  ];
}

function placeColumns(t: Words): Column<Member>[] {
  return [
    {
      key: "version",
      title: t("column.version"),
      width: 90,
      from: 1160,
      render: (row) => row.broker.live?.version || <Unknown />,
    },
    {
      key: "address",
      title: t("column.address"),
      width: 160,
      from: 1260,
      render: (row) => <span className="sb-mono">{row.broker.address}</span>,
    },
    {
      key: "host",
      title: t("column.host"),
      width: 110,
      from: 1380,
      render: (row) => row.broker.process?.host,
    },
  ];
}

function BrokerName({ cluster, row }: { cluster: string; row: Member }) {
  const { label } = row.broker;
  return (
    <span className={classes.name}>
      <Link
        to="/clusters/$cluster/brokers/$broker"
        params={{ cluster, broker: label }}
        className={classes.link}
        title={label}
      >
        {label}
      </Link>
      <RoleTag broker={row.broker} standing={row.standing} />
      <Marks broker={row.broker} />
    </span>
  );
}

function Sync({ row }: { row: Member }) {
  const ha = haOf(row.broker.live);
  return <InSync standing={row.standing} size={row.size} inSync={ha.inSync} min={ha.minInSync} />;
}

function Uptime({ row }: { row: Member }) {
  const now = useNow();
  const { live } = row.broker;
  if (!live?.is_reachable || !live.booted_at) return <Unknown />;
  return <Span seconds={Math.max(0, Math.floor((now - Date.parse(live.booted_at)) / 1000))} />;
}
