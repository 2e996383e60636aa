/** Columns of the list of groups. */
import { Anchor, Group } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { put } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { FavouriteStar } from "@/shared/ui/FavouriteStar";
import { Count, Rate, Span } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { Tag } from "@/shared/ui/StateBadge";
import type { GroupRow } from "./group";
import { Pace } from "./Pace";
import { useTexts } from "./texts";

export function useGroupColumns(cluster: string): readonly Column<GroupRow>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "name",
        title: t("column.name"),
        sort: "name",
        render: (row) => <GroupName cluster={cluster} row={row} />,
      },
      {
        key: "lag",
        title: t("column.lag"),
        width: 104,
        align: "right",
        sort: "lag",
        largestFirst: true,
        render: (row) => <Lag of={row} />,
      },
      {
        key: "behind",
        title: t("column.behind"),
        width: 100,
        from: 440,
        align: "right",
        sort: "seconds",
        largestFirst: true,
        render: (row) => (
          <Span seconds={row.lag_s} why={t(row.is_sampled ? "why.behind" : "why.notSampled")} />
        ),
      },
      {
        key: "rate",
        title: t("column.rate"),
        width: 110,
        from: 620,
        align: "right",
        sort: "rate",
        largestFirst: true,
        render: (row) => <Rate value={row.consume_rate} why={t("why.rate")} />,
      },
      {
        key: "eta",
        title: t("column.eta"),
        width: 110,
        from: 720,
        align: "right",
        sort: "eta",
        largestFirst: true,
        render: (row) => <Pace figures={row} />,
      },
      {
        key: "members",
        title: t("column.members"),
        width: 96,
        from: 820,
        align: "right",
        sort: "members",
        largestFirst: true,
        render: (row) => (
          <Count value={row.member_count} why={t(row.is_sampled ? "why.members" : "why.notSampled")} />
        ),
      },
      {
        key: "topics",
        title: t("column.topics"),
        width: 80,
        from: 900,
        align: "right",
        sort: "topics",
        largestFirst: true,
        render: (row) => <Count value={row.topic_count} why={t("why.topics")} />,
      },
      {
        key: "owner",
        title: t("column.owner"),
        width: 150,
        from: 1060,
        render: (row) => [row.owner, row.team].filter(Boolean).join(" · "),
      },
    ],
    [t, cluster],
  );
}

function GroupName({ cluster, row }: { cluster: string; row: GroupRow }) {
  const t = useTexts();
  const client = useQueryClient();
  async function mark(is_favourite: boolean) {
    await put("/clusters/{cluster}/groups/{group}/favourite/", {
      params: { cluster, group: row.name },
      body: { is_favourite },
    });
    await refresh(client, "/clusters/{cluster}/groups/");
  }
  return (
    <Group gap={6} wrap="nowrap">
      <FavouriteStar name={row.name} isOn={row.is_favourite} onChange={mark} />
      <Anchor
        size="sm"
        truncate
        title={row.name}
        renderRoot={(props) => (
          <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: row.name }} {...props} />
        )}
      >
        {row.name}
      </Anchor>
      {row.model === "BROADCASTING" && <Tag tone="info">{t("model.BROADCASTING")}</Tag>}
    </Group>
  );
}
