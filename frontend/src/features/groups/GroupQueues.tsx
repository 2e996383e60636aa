/** Every queue that a group has committed on: where it stands, how far behind, and which member holds it. */
import { Select } from "@mantine/core";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Toolbar } from "@/shared/list/Toolbar";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count, Span } from "@/shared/ui/Figure";
import { Unknown } from "@/shared/ui/Unknown";
import { byPlace, type Group, holdersOf, placeOf, type QueueLag } from "./group";
import { Pace } from "./Pace";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  name: string;
  group: Group | undefined;
  isStale: boolean;
  /** Empty: all of them. */
  topic: string;
  onTopic: (topic: string) => void;
}

interface Row extends QueueLag {
  topic: string;
}

export function GroupQueues({ cluster, name, group, isStale, topic, onTopic }: Props) {
  const t = useTexts();
  const rows = useMemo(
    () =>
      group?.topics
        .filter((one) => topic === "" || one.topic === topic)
        .flatMap((one) => one.queues.map((queue): Row => ({ ...queue, topic: one.topic })))
        .sort(byPlace),
    [group, topic],
  );
  const topics = group?.topics.map((one) => one.topic) ?? [];
  return (
    <>
      <Toolbar>
        <Select
          aria-label={t("queue.topic")}
          w="min(420px, 100%)"
          value={topic}
          onChange={(value) => onTopic(value ?? "")}
          data={[
            { value: "", label: t("queue.allTopics") },
            ...topics.map((value) => ({ value, label: value })),
          ]}
          searchable={topics.length > 8}
        />
      </Toolbar>
      <DataTable
        label={t("queue.label", { group: name })}
        columns={useColumns(cluster, name)}
        rows={rows}
        rowKey={placeOf}
        isStale={isStale}
        fill={false}
        empty={<EmptyState title={t("queue.empty")}>{t("queue.emptyDetail")}</EmptyState>}
      />
    </>
  );
}

function useColumns(cluster: string, group: string): readonly Column<Row>[] {
  const t = useTexts();
  const holder = useHolder(cluster, group);
  return useMemo(
    () => [
      { key: "topic", title: t("queue.topic"), render: (row) => <span title={row.topic}>{row.topic}</span> },
      { key: "broker", title: t("queue.broker"), width: 110, from: 520, render: (row) => row.broker },
      { key: "queue", title: t("queue.queue"), width: 72, align: "right", render: (row) => row.queue },
      {
        key: "committed",
        title: t("queue.committed"),
        width: 104,
        from: 640,
        align: "right",
        render: (row) => <Count value={row.committed} />,
      },
      {
        key: "max",
        title: t("queue.max"),
        width: 104,
        from: 760,
        align: "right",
        render: (row) => <Count value={row.max} />,
      },
      {
        key: "lag",
        title: t("queue.lag"),
        width: 90,
        align: "right",
        render: (row) => <Count value={row.lag} why={t("why.uncommitted")} />,
      },
      {
        key: "behind",
        title: t("queue.behind"),
        width: 100,
        from: 420,
        align: "right",
        render: (row) => <Span seconds={row.lag_s} why={t("why.behind")} />,
      },
      {
        key: "eta",
        title: t("queue.eta"),
        width: 110,
        from: 860,
        align: "right",
        render: (row) => <Pace figures={row} />,
      },
      { key: "holder", title: t("queue.holder"), width: 220, from: 1000, render: (row) => holder(row) },
    ],
    [t, holder],
  );
}

/** One read of all members tells who holds which queue. */
function useHolder(cluster: string, group: string) {
  const t = useTexts();
  const members = useGet(
    "/clusters/{cluster}/groups/{group}/members/",
    { params: { cluster, group } },
    { staleTime: 15_000, refetchInterval: 30_000 },
  );
  const { data, isPending } = members;
  return useMemo(() => {
    const holders = holdersOf(data?.members ?? []);
    return (row: Row) => {
      if (isPending) return t("queue.askingMembers");
      const held = holders.get(placeOf(row));
      if (held) {
        return (
          <span className="sb-mono" title={held.join("\n")}>
            {held.join(", ")}
          </span>
        );
      }
      return data?.is_complete ? t("queue.nobody") : <Unknown why={t("queue.holderUnknown")} />;
    };
  }, [data, isPending, t]);
}
