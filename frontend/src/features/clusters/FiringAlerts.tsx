/** Alerts of this cluster that fire now, the newest first; told by the socket. */
import { Link } from "@tanstack/react-router";
import { useLive } from "@/shared/live/live";
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

export function useFiring(cluster: string): FiringAlert[] | undefined {
  const { rows } = useLive<FiringAlert>("alerts");
  if (rows === undefined) return undefined;
  return Object.values(rows)
    .filter((alert) => alert.cluster === cluster && alert.state === "firing" && !alert.is_silenced)
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
