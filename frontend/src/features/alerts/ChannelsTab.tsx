/** Channels: ways to people. Their addresses and secrets go in and never come out. */
import { Button, Group, Text } from "@mantine/core";
import { IconFlame, IconPlus, IconTrash, IconWebhook } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { del } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { ChannelForm } from "./ChannelForm";
import { TestFire } from "./TestFire";
import { useTexts } from "./texts";

type Channel = components["schemas"]["AlertChannel"];
type Doing = { verb: "test" | "delete"; channel: Channel } | { verb: "new" } | null;

export function ChannelsTab() {
  const t = useTexts();
  const client = useQueryClient();
  const [doing, doNow] = useState<Doing>(null);
  const maySee = useRights().may("viewer");
  const read = useGet("/alerts/channels/", { query: { limit: 500 } }, { enabled: maySee });
  const columns = useColumns(doNow);
  if (!maySee) return <EmptyState icon={<IconWebhook size={28} />} title={t("channels.noRights")} />;
  const channel = doing && "channel" in doing ? doing.channel : undefined;
  return (
    <>
      <Toolbar>
        <IfMay role="admin">
          <Button leftSection={<IconPlus size={14} />} onClick={() => doNow({ verb: "new" })}>
            {t("channels.new")}
          </Button>
        </IfMay>
      </Toolbar>
      <DataTable
        label={t("channels.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(row) => row.id}
        rowName={(row) => row.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        empty={
          <EmptyState icon={<IconWebhook size={28} />} title={t("channels.empty")}>
            {t("channels.emptyDetail")}
          </EmptyState>
        }
      />
      <ChannelForm opened={doing?.verb === "new"} onClose={() => doNow(null)} />
      <TestFire opened={doing?.verb === "test"} onClose={() => doNow(null)} channel={channel} />
      {channel && (
        <Confirm
          opened={doing?.verb === "delete"}
          onClose={() => doNow(null)}
          title={t("channels.deleteTitle", { name: channel.name })}
          name={channel.name}
          actionLabel={t("rules.delete")}
          onConfirm={async () => {
            await del("/alerts/channels/{id}/", { params: { id: Number(channel.id) } });
            await refresh(client, "/alerts/channels/", "/alerts/rules/");
          }}
        >
          <Text size="sm">{t("channels.deleteDetail")}</Text>
        </Confirm>
      )}
    </>
  );
}

function useColumns(doNow: (doing: Doing) => void): Column<Channel>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "name",
        title: t("column.name"),
        render: (row) => (
          <span>
            {row.name} {row.is_enabled === false && <Tag>{t("channels.off")}</Tag>}
          </span>
        ),
      },
      {
        key: "kind",
        title: t("channels.kind"),
        width: 100,
        from: 420,
        render: (row) => t(`channels.${row.kind}`),
      },
      {
        key: "target",
        title: t("column.target"),
        width: 260,
        from: 620,
        render: (row) => (
          <span title={row.recipients?.join(", ")}>
            {row.kind === "mail" ? row.recipients?.join(", ") : row.host}{" "}
            {row.has_secret && <Tag>{t("channels.signed")}</Tag>}
          </span>
        ),
      },
      { key: "by", title: t("column.by"), width: 110, from: 820, render: (row) => row.created_by },
      {
        key: "at",
        title: t("column.at"),
        width: 120,
        from: 920,
        render: (row) => <RelativeTime at={row.created_at} />,
      },
      {
        key: "act",
        title: "",
        width: 210,
        align: "right",
        render: (row) => (
          <IfMay role="admin">
            <Group gap={4} justify="flex-end" wrap="nowrap">
              <Button
                variant="subtle"
                size="compact-xs"
                leftSection={<IconFlame size={13} />}
                onClick={() => doNow({ verb: "test", channel: row })}
              >
                {t("rules.test")}
              </Button>
              <Button
                variant="subtle"
                size="compact-xs"
                leftSection={<IconTrash size={13} />}
                onClick={() => doNow({ verb: "delete", channel: row })}
              >
                {t("rules.delete")}
              </Button>
            </Group>
          </IfMay>
        ),
      },
    ],
    [t, doNow],
  );
}
