/** Who sends, and who could: producers that are connected to the topic's brokers, asked now. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

type Producer = components["schemas"]["Producer"];

export function TopicProducers({ cluster, topic }: { cluster: string; topic: string }) {
  const t = useTexts();
  const read = useGet(
    "/clusters/{cluster}/topics/{topic}/producers/",
    { params: { cluster, topic } },
    { staleTime: 30_000 },
  );
  const rows = useMemo(
    () => read.data?.producers.toSorted((a, b) => Number(b.sends_here) - Number(a.sends_here)),
    [read.data],
  );
  const silent = (read.data?.brokers ?? []).filter((broker) => !broker.ok).map((broker) => broker.broker);
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text size="sm" c="dimmed" maw={720}>
          {t("producer.note")}
        </Text>
        <Button
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={read.isFetching}
          onClick={() => void read.refetch()}
        >
          {t("producer.again")}
        </Button>
      </Group>
      {silent.length > 0 && (
        <Alert className="sb-warn" styles={TONED}>
          {t("producer.partial", { brokers: silent.join(", ") })}
        </Alert>
      )}
      <DataTable
        label={t("producer.label", { topic })}
        columns={useColumns()}
        rows={rows}
        rowKey={(row) => `${row.group}\n${row.client_id}`}
        error={read.error}
        onRetry={() => void read.refetch()}
        fill={false}
        empty={<EmptyState title={t("producer.empty")} />}
      />
    </Stack>
  );
}

function useColumns(): readonly Column<Producer>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "group", title: t("producer.group"), render: (row) => row.group },
      {
        key: "sends",
        title: t("producer.sends"),
        width: 150,
        render: (row) =>
          row.sends_here === null ? (
            <Unknown why={t("producer.sendsWhy")} />
          ) : (
            <Tag tone={row.sends_here ? "ok" : "quiet"}>
              {t(row.sends_here ? "producer.yes" : "producer.no")}
            </Tag>
          ),
      },
      {
        key: "client",
        title: t("producer.client"),
        width: 280,
        render: (row) => (
          <span className="sb-mono" title={row.client_id}>
            {row.client_id}
          </span>
        ),
      },
      {
        key: "address",
        title: t("producer.address"),
        width: 170,
        from: 640,
        render: (row) => <span className="sb-mono">{row.address}</span>,
      },
      {
        key: "language",
        title: t("producer.language"),
        width: 100,
        from: 860,
        render: (row) => row.language,
      },
      {
        key: "brokers",
        title: t("producer.brokers"),
        width: 140,
        from: 980,
        render: (row) => row.brokers.join(", "),
      },
      {
        key: "seen",
        title: t("producer.seen"),
        width: 120,
        from: 760,
        align: "right",
        render: (row) => <RelativeTime at={row.last_seen_at} />,
      },
    ],
    [t],
  );
}
