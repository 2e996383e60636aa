/** Alerts of this cluster that fire now, the newest first; told by the socket, read while it is dead. */
import { Link } from "@tanstack/react-router";
import { useGet } from "@/shared/api/queries";
import { useLive, usePolling } from "@/shared/live/live";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge } from "@/shared/ui/StateBadge";
import { PlainText } from "@/shared/ui/TextBody";
import classes from "./Cluster.module.css";
import { useTexts } from "./texts";

interface FiringAlert {
  [field: string]: unknown;
  id: string;
  cluster: string;
  state: string;
  rule: string;
  severity: string;
  summary: string;
  name: string;
  fired_at: string | null;
  is_silenced: boolean;
}

const SHOWN = 3;
const MOST = 500;

export function useFiring(cluster: string): FiringAlert[] | undefined {
  const { rows } = useLive<FiringAlert>("alerts");
  const polling = usePolling();
  const read = useGet(
    "/alerts/",
    { query: { cluster, state: "firing", limit: MOST } },
    { enabled: polling !== false, refetchInterval: polling },
  );
  const alerts: FiringAlert[] | undefined = rows ? Object.values(rows) : read.data?.results;
  return alerts
    ?.filter((alert) => alert.cluster === cluster && alert.state === "firing" && !alert.is_silenced)
    .sort((a, b) => (b.fired_at ?? "").localeCompare(a.fired_at ?? ""));
}

export function FiringAlerts({ cluster }: { cluster: string }) {
  const t = useTexts();
  const firing = useFiring(cluster) ?? [];
  if (firing.length === 0) return null;
  return (
    <ul className={classes.alerts} aria-label={t("alerts.title")}>
      {firing.slice(0, SHOWN).map((alert) => (
        <li key={alert.id}>
          <StateBadge tone={alert.severity === "critical" ? "bad" : "warn"} label={alert.rule} />
          <span>
            <PlainText text={alert.summary || alert.name} />
          </span>
          <RelativeTime at={alert.fired_at} />
        </li>
      ))}
      <li>
        <Link to="/clusters/$cluster/alerts" params={{ cluster }}>
          {t("alerts.more")}
        </Link>
      </li>
    </ul>
  );
}
