/** Every queue of a topic: what it holds, and whether one holds far more than the others. */
import { Alert, Stack } from "@mantine/core";
import { useMemo } from "react";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count } from "@/shared/ui/Figure";
import { TONED } from "@/shared/ui/plan_views";
import { ShareBar } from "@/shared/ui/ShareBar";
import { useTexts } from "./texts";
import { type Queue, shareOf, skewOf } from "./topic";

interface Props {
  topic: string;
  queues: readonly Queue[] | undefined;
  isStale: boolean;
}

export function TopicQueues({ topic, queues, isStale }: Props) {
  const t = useTexts();
  const largest = (queues ?? []).reduce((most, queue) => {
    const count = BigInt(queue.messages);
    return count > most ? count : most;
  }, 0n);
  const columns = useMemo<readonly Column<Queue>[]>(
    () => [
      { key: "broker", title: t("queue.broker"), render: (row) => row.broker },
      { key: "queue", title: t("queue.queue"), width: 80, align: "right", render: (row) => row.queue },
      {
        key: "min",
        title: t("queue.min"),
        width: 150,
        from: 560,
        align: "right",
        render: (row) => <Count value={row.min} />,
      },
      {
        key: "max",
        title: t("queue.max"),
        width: 150,
        from: 460,
        align: "right",
        render: (row) => <Count value={row.max} />,
      },
      {
        key: "messages",
        title: t("queue.messages"),
        width: 150,
        align: "right",
        render: (row) => <Count value={row.messages} />,
      },
      {
        key: "share",
        title: t("queue.share"),
        width: 180,
        from: 760,
        render: (row) => <ShareBar share={shareOf(row.messages, largest)} />,
      },
    ],
    [t, largest],
  );
  const skew = queues && skewOf(queues);
  return (
    <Stack gap="sm">
      {skew && (
        <Alert className="sb-warn" styles={TONED}>
          {t("queue.skew", { queue: skew.queue.queue, broker: skew.queue.broker, ratio: skew.ratio })}
        </Alert>
      )}
      <DataTable
        label={t("queue.label", { topic })}
        columns={columns}
        rows={queues}
        rowKey={(row) => `${row.broker}/${row.queue}`}
        isStale={isStale}
        fill={false}
        empty={<EmptyState title={t("queue.empty")}>{t("queue.emptyDetail")}</EmptyState>}
      />
    </Stack>
  );
}
