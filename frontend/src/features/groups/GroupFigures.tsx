/** The figures at the head of a group's page. */
import { Skeleton } from "@mantine/core";
import { Count, Rate, Span } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import type { Tone } from "@/shared/ui/StateBadge";
import { type Group, paceOf } from "./group";
import { Pace } from "./Pace";
import { useTexts } from "./texts";

export function GroupFigures({ group, isStale }: { group: Group | undefined; isStale: boolean }) {
  const t = useTexts();
  if (!group) return <Skeleton height={88} />;
  const pace = paceOf(group);
  const membersTone: Tone | undefined = group.member_count === 0 && group.lag !== "0" ? "bad" : undefined;
  return (
    <StatTiles>
      <StatTile label={t("figure.lag")} isStale={isStale}>
        <span data-testid="lag">
          <Lag of={group} />
        </span>
      </StatTile>
      <StatTile label={t("figure.behind")} note={t("figure.behindNote")} isStale={isStale}>
        <Span seconds={group.lag_s} why={t(group.is_sampled ? "why.behind" : "why.notSampled")} />
      </StatTile>
      <StatTile label={t("figure.rate")} isStale={isStale}>
        <Rate value={group.consume_rate} why={t("why.rate")} />
      </StatTile>
      <StatTile
        label={t("figure.eta")}
        note={pace === "never" ? t("figure.neverNote") : pace === "clear" ? undefined : t("figure.etaNote")}
        isStale={isStale}
      >
        <Pace figures={group} />
      </StatTile>
      <StatTile label={t("figure.members")} tone={membersTone} isStale={isStale}>
        <Count value={group.member_count} why={t(group.is_sampled ? "why.members" : "why.notSampled")} />
      </StatTile>
      <StatTile label={t("figure.topics")} isStale={isStale}>
        <Count value={group.topic_count} why={t("why.topics")} />
      </StatTile>
    </StatTiles>
  );
}
