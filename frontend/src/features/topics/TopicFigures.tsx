/** The figures at the head of a topic's page. */
import { Skeleton } from "@mantine/core";
import { Count, Rate } from "@/shared/ui/Figure";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import { Unknown } from "@/shared/ui/Unknown";
import { useTexts } from "./texts";
import type { Topic } from "./topic";

export function TopicFigures({ topic, isStale }: { topic: Topic | undefined; isStale: boolean }) {
  const t = useTexts();
  if (!topic) return <Skeleton height={76} />;
  return (
    <StatTiles>
      <StatTile label={t("figure.rate")} isStale={isStale}>
        <Rate value={topic.put_rate} why={t("why.rate")} />
      </StatTile>
      <StatTile label={t("figure.messages")} isStale={isStale}>
        <Count value={topic.messages} short why={t("why.messages")} />
      </StatTile>
      <StatTile label={t("figure.lag")} isStale={isStale}>
        <Count value={topic.lag} short why={t("why.lag")} />
      </StatTile>
      <StatTile label={t("figure.groups")} isStale={isStale}>
        <Count value={topic.group_count} why={t("why.groups")} />
      </StatTile>
      <StatTile label={t("figure.lastWrite")} isStale={isStale}>
        {topic.last_write_at ? (
          <RelativeTime at={topic.last_write_at} />
        ) : (
          <Unknown why={t("why.lastWrite")} />
        )}
      </StatTile>
      <StatTile
        label={t("figure.queues")}
        note={[
          topic.write_queues === topic.read_queues
            ? null
            : t("figure.writeQueues", { count: topic.write_queues ?? 0 }),
          t("figure.onBrokers", { count: topic.brokers.length }),
        ]
          .filter(Boolean)
          .join(" · ")}
      >
        <Count value={topic.read_queues} why={t("why.groups")} />
      </StatTile>
    </StatTiles>
  );
}
