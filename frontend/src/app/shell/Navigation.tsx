/** Where one can go: all clusters, and inside of one what it has. */
import { Select } from "@mantine/core";
import {
  IconAlertTriangle,
  IconChartBar,
  IconFileText,
  IconHierarchy2,
  IconHistory,
  IconHome2,
  IconListCheck,
  IconMailX,
  IconMessage2,
  IconServer,
  IconServer2,
  IconSettings,
  IconShieldLock,
  IconStack2,
  IconUsersGroup,
} from "@tabler/icons-react";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useGet } from "@/shared/api/queries";
import { useLive } from "@/shared/live/live";
import { useRights } from "@/shared/session/session";
import { useTexts } from "../texts";
import classes from "./Shell.module.css";

const SIZE = 16;

export function Navigation() {
  const t = useTexts();
  const { cluster } = useParams({ strict: false });
  return (
    <nav>
      {cluster !== undefined && (
        <section className={classes.section} aria-label={t("nav.clusterLevel")}>
          <ClusterSwitch cluster={cluster} />
          <ClusterLinks cluster={cluster} />
        </section>
      )}
      <section className={classes.section} aria-label={t("nav.fleetLevel")}>
        {cluster !== undefined && <div className={classes.heading}>{t("nav.fleetLevel")}</div>}
        <FleetLinks />
      </section>
    </nav>
  );
}

function ClusterSwitch({ cluster }: { cluster: string }) {
  const t = useTexts();
  const navigate = useNavigate();
  const { data } = useGet("/fleet/", {}, { staleTime: 30_000 });
  const names = data?.clusters.map((row) => row.name) ?? [];
  return (
    <Select
      aria-label={t("nav.switchCluster")}
      data={names.includes(cluster) ? names : [cluster, ...names]}
      value={cluster}
      searchable
      mb={6}
      onChange={(name) => name && void navigate({ to: "/clusters/$cluster", params: { cluster: name } })}
      comboboxProps={{ withinPortal: true }}
    />
  );
}

const CLUSTER_LINKS = [
  ["/clusters/$cluster", "nav.overview", IconHierarchy2],
  ["/clusters/$cluster/topics", "nav.topics", IconStack2],
  ["/clusters/$cluster/groups", "nav.groups", IconUsersGroup],
  ["/clusters/$cluster/messages", "nav.messages", IconMessage2],
  ["/clusters/$cluster/dead-letters", "nav.deadLetters", IconMailX],
  ["/clusters/$cluster/brokers", "nav.brokers", IconServer],
  ["/clusters/$cluster/alerts", "nav.alerts", IconAlertTriangle],
  ["/clusters/$cluster/operations", "nav.operations", IconListCheck],
  ["/clusters/$cluster/acl", "nav.acl", IconShieldLock],
  ["/clusters/$cluster/reports", "nav.reports", IconChartBar],
  ["/clusters/$cluster/documents", "nav.documents", IconFileText],
] as const;

function ClusterLinks({ cluster }: { cluster: string }) {
  const t = useTexts();
  return CLUSTER_LINKS.map(([to, text, Icon]) => (
    <Link
      key={to}
      to={to}
      params={{ cluster }}
      className={classes.link}
      activeOptions={{ exact: to === "/clusters/$cluster", includeSearch: false }}
    >
      <Icon size={SIZE} aria-hidden />
      {t(text)}
      {to === "/clusters/$cluster/alerts" && <Firing cluster={cluster} />}
    </Link>
  ));
}

function Firing({ cluster }: { cluster: string }): ReactNode {
  const t = useTexts();
  const { rows } = useLive<{ cluster: string; state: string }>("alerts");
  const count = Object.values(rows ?? {}).filter(
    (row) => row.cluster === cluster && row.state === "firing",
  ).length;
  if (count === 0) return null;
  return (
    <span className={classes.count} aria-label={t("nav.firing", { count })} role="img">
      {count}
    </span>
  );
}

function FleetLinks() {
  const t = useTexts();
  const { may } = useRights();
  return (
    <>
      <Link to="/" className={classes.link} activeOptions={{ exact: true, includeSearch: false }}>
        <IconHome2 size={SIZE} aria-hidden />
        {t("nav.fleet")}
      </Link>
      {may("viewer") && (
        <Link to="/hosts" className={classes.link}>
          <IconServer2 size={SIZE} aria-hidden />
          {t("nav.hosts")}
        </Link>
      )}
      <Link to="/audit" className={classes.link}>
        <IconHistory size={SIZE} aria-hidden />
        {t("nav.audit")}
      </Link>
      <Link to="/settings" className={classes.link}>
        <IconSettings size={SIZE} aria-hidden />
        {t("nav.settings")}
      </Link>
    </>
  );
}
