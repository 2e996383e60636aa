/** Columns of the list of topics. */
import { Anchor, Group } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { put } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { FavouriteStar } from "@/shared/ui/FavouriteStar";
import { Count, Rate } from "@/shared/ui/Figure";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { useTexts } from "./texts";
import { permWord, type TopicRow } from "./topic";

export function useTopicColumns(cluster: string): readonly Column<TopicRow>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "name",
        title: t("column.name"),
        sort: "name",
        render: (row) => <TopicName cluster={cluster} row={row} />,
      },
      {
        key: "rate",
        title: t("column.rate"),
        width: 96,
        from: 440,
        align: "right",
        sort: "rate",
        largestFirst: true,
        render: (row) => <Rate value={row.put_rate} why={t("why.rate")} />,
      },
      {
        key: "messages",
        title: t("column.messages"),
        width: 108,
        from: 620,
        align: "right",
        sort: "messages",
        largestFirst: true,
        render: (row) => <Count value={row.messages} short why={t("why.messages")} />,
      },
      {
        key: "lag",
        title: t("column.lag"),
        width: 100,
        align: "right",
        sort: "lag",
        largestFirst: true,
        render: (row) => <Count value={row.lag} short why={t("why.lag")} />,
      },
      {
        key: "groups",
        title: t("column.groups"),
        width: 80,
        from: 720,
        align: "right",
        sort: "groups",
        largestFirst: true,
        render: (row) => <Count value={row.group_count} why={t("why.groups")} />,
      },
      {
        key: "lastWrite",
        title: t("column.lastWrite"),
        width: 108,
        from: 820,
        align: "right",
        sort: "last_write",
        largestFirst: true,
        render: (row) =>
          row.last_write_at ? <RelativeTime at={row.last_write_at} /> : <Unknown why={t("why.lastWrite")} />,
      },
      {
        key: "queues",
        title: t("column.queues"),
        width: 76,
        from: 920,
        align: "right",
        render: (row) => <Count value={row.read_queues} why={t("why.groups")} />,
      },
      {
        key: "owner",
        title: t("column.owner"),
        width: 130,
        from: 1060,
        render: (row) => [row.owner, row.team].filter(Boolean).join(" · "),
      },
    ],
    [t, cluster],
  );
}

function TopicName({ cluster, row }: { cluster: string; row: TopicRow }) {
  const t = useTexts();
  const client = useQueryClient();
  async function mark(is_favourite: boolean) {
    await put("/clusters/{cluster}/topics/{topic}/favourite/", {
      params: { cluster, topic: row.name },
      body: { is_favourite },
    });
    await refresh(client, "/clusters/{cluster}/topics/");
  }
  return (
    <Group gap={6} wrap="nowrap">
      <FavouriteStar name={row.name} isOn={row.is_favourite} onChange={mark} />
      <Anchor
        size="sm"
        truncate
        title={row.name}
        renderRoot={(props) => (
          <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic: row.name }} {...props} />
        )}
      >
        {row.name}
      </Anchor>
      {row.kind !== "normal" && <Tag>{t(`kind.${row.kind}`)}</Tag>}
      {row.is_ordered && <Tag tone="info">{t("ordered")}</Tag>}
      {row.perm !== null && permWord(row.perm) !== "rw" && (
        <Tag tone="warn">{t(`perm.${permWord(row.perm)}`)}</Tag>
      )}
    </Group>
  );
}
