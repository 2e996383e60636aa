/** The fleet in six figures. */
import { Box } from "@mantine/core";
import { Count, Rate, Ratio } from "@/shared/ui/Figure";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import type { Totals } from "./fleet_rows";
import { useTexts } from "./texts";

export function FleetTiles({ totals, isStale }: { totals: Totals; isStale: boolean }) {
  const t = useTexts();
  const firing = totals.firing ?? 0;
  return (
    <Box mb="md">
      <StatTiles>
        <StatTile
          label={t("tile.clusters")}
          note={t(totals.troubled > 0 ? "tile.troubled" : "tile.healthy", {
            count: totals.troubled > 0 ? totals.troubled : totals.healthy,
          })}
          tone={totals.troubled > 0 ? "warn" : undefined}
        >
          <Count value={totals.healthy + totals.troubled} />
        </StatTile>
        <StatTile label={t("tile.in")} isStale={isStale}>
          <Rate value={totals.putRate} />
        </StatTile>
        <StatTile label={t("tile.out")} isStale={isStale}>
          <Rate value={totals.gotRate} />
        </StatTile>
        <StatTile label={t("tile.lag")} isStale={isStale}>
          <Count value={totals.lag} short />
        </StatTile>
        <StatTile label={t("tile.disk")} isStale={isStale}>
          <Ratio value={totals.disk} />
        </StatTile>
        <StatTile
          label={t("tile.alerts")}
          tone={firing > 0 ? "bad" : undefined}
          note={totals.firing === 0 ? t("tile.quiet") : undefined}
        >
          <Count value={totals.firing} />
        </StatTile>
      </StatTiles>
    </Box>
  );
}
