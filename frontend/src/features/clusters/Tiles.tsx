/** The cluster in figures. What is not known, or not for this person to see, is said to be so. */
import { Link } from "@tanstack/react-router";
import { useGet } from "@/shared/api/queries";
import { usePolling } from "@/shared/live/live";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { Count, Rate, Ratio } from "@/shared/ui/Figure";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import type { LiveRow, Totals } from "./cluster_data";
import { useFiring } from "./FiringAlerts";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  totals: Totals | undefined;
  rows: LiveRow[] | undefined;
  sampledAt: string | null;
}

export function Tiles({ cluster, totals: told, rows, sampledAt }: Props) {
  const t = useTexts();
  const isStale = useIsStale(sampledAt) && rows !== undefined;
  const polling = usePolling();
  // Where the socket tells nothing, the fleet has the same figures.
  const fleet = useGet("/fleet/", {}, { enabled: told === undefined, refetchInterval: polling });
  const totals = told ?? fleet.data?.clusters.find((row) => row.name === cluster);
  const silent = rows?.filter((row) => !row.is_reachable).length;
  const disks = rows?.flatMap((row) => (row.disk_ratio === null ? [] : [row.disk_ratio]));
  const firing = useFiring(cluster);
  const disk = disks === undefined || disks.length === 0 ? null : Math.max(...disks);
  return (
    <StatTiles>
      <StatTile label={t("tile.put")} isStale={isStale}>
        <Rate value={totals?.put_rate} />
      </StatTile>
      <StatTile label={t("tile.got")} isStale={isStale}>
        <Rate value={totals?.got_rate} />
      </StatTile>
      <StatTile label={t("tile.lag")} isStale={isStale} note={t("tile.lagNote")}>
        <Count value={totals?.lag} short />
      </StatTile>
      <StatTile label={t("tile.topics")} isStale={isStale}>
        <Count value={totals?.topic_count} />
      </StatTile>
      <StatTile label={t("tile.groups")} isStale={isStale}>
        <Count value={totals?.group_count} />
      </StatTile>
      <StatTile
        label={t("tile.brokers")}
        tone={silent ? "bad" : undefined}
        note={
          silent ? t("tile.brokersNote", { count: silent }) : rows?.length ? t("tile.brokersAll") : undefined
        }
      >
        <Count value={rows?.length} />
      </StatTile>
      <StatTile
        label={t("tile.disk")}
        isStale={isStale}
        tone={disk !== null && disk >= 0.85 ? "warn" : undefined}
      >
        <Ratio value={disk} />
      </StatTile>
      <StatTile
        label={t("tile.alerts")}
        tone={firing?.length ? "bad" : undefined}
        note={
          <Link to="/clusters/$cluster/alerts" params={{ cluster }}>
            {t(firing === undefined ? "alerts.more" : firing.length ? "tile.alertsSome" : "tile.alertsNone")}
          </Link>
        }
      >
        <Count value={firing?.length} />
      </StatTile>
    </StatTiles>
  );
}
