/** A group over time, the topics that it reads, and whose it is. */
import { Anchor, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { About as AboutOf } from "@/shared/about/AboutFields";
import { AboutPanel } from "@/shared/about/AboutPanel";
import { patch } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { RangePicker } from "@/shared/chart/RangePicker";
import type { Range } from "@/shared/chart/ranges";
import { SeriesChart, type SeriesLine } from "@/shared/chart/SeriesChart";
import { formatDuration } from "@/shared/format/durations";
import { formatRate, formatScale } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useRights } from "@/shared/session/session";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Rate, Span } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { Panel } from "@/shared/ui/Panel";
import { byTopic, type Group, slowestOf, type Subscription } from "./group";
import { Pace } from "./Pace";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  name: string;
  group: Group | undefined;
  isStale: boolean;
  range: Range;
  onRange: (range: Range) => void;
  /** Shows the queues of that topic. */
  onTopic: (topic: string) => void;
}

export function GroupOverview({ cluster, name, group, isStale, range, onRange, onTopic }: Props) {
  const t = useTexts();
  const topics = useMemo(() => group?.topics.slice().sort(byTopic), [group]);
  return (
    <Stack gap="md">
      <DataTable
        label={t("topic.label", { group: name })}
        columns={useColumns(cluster)}
        rows={topics}
        rowKey={(row) => row.topic}
        isStale={isStale}
        fill={false}
        onOpen={(row) => onTopic(row.topic)}
        empty={<EmptyState title={t("topic.empty")}>{t("topic.emptyDetail")}</EmptyState>}
      />
      <Charts {...{ cluster, name, range, onRange }} />
      {group && <About cluster={cluster} group={group} />}
    </Stack>
  );
}

function Charts({ cluster, name, range, onRange }: Pick<Props, "cluster" | "name" | "range" | "onRange">) {
  const t = useTexts();
  const locale = useLocale();
  const [lag, seconds, rate] = useMemo(
    () =>
      (["lag", "seconds", "consume_rate"] as const).map((metric): SeriesLine[] => [
        {
          subject: "group",
          name,
          metric,
          label: t(metric === "consume_rate" ? "figure.rate" : `chart.${metric}`),
        },
      ]),
    [name, t],
  );
  const common = { cluster, range, height: 150 };
  return (
    <Panel title={t("chart.title")} aside={<RangePicker value={range} onChange={onRange} />}>
      <Stack gap="lg">
        <SeriesChart
          {...common}
          title={t("chart.lag")}
          lines={lag ?? []}
          format={(value) => formatScale(value, locale)}
        />
        <SeriesChart
          {...common}
          title={t("chart.seconds")}
          lines={seconds ?? []}
          format={(value) => formatDuration(value, locale)}
        />
        <SeriesChart
          {...common}
          title={t("chart.rate")}
          lines={rate ?? []}
          format={(value) => formatRate(value, locale)}
        />
      </Stack>
    </Panel>
  );
}

function About({ cluster, group }: { cluster: string; group: Group }) {
  const client = useQueryClient();
  const rights = useRights();
  async function save(body: AboutOf) {
    await patch("/clusters/{cluster}/groups/{group}/", { params: { cluster, group: group.name }, body });
    await refresh(client, "/clusters/{cluster}/groups/{group}/", "/clusters/{cluster}/groups/");
  }
  return <AboutPanel about={group} mayEdit={rights.may("operator", cluster, group.name)} onSave={save} />;
}

function useColumns(cluster: string): readonly Column<Subscription>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "topic",
        title: t("topic.name"),
        render: (row) => (
          <Anchor
            size="sm"
            title={row.topic}
            renderRoot={(props) => (
              <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic: row.topic }} {...props} />
            )}
          >
            {row.topic}
          </Anchor>
        ),
      },
      {
        key: "expression",
        title: t("topic.expression"),
        width: 150,
        from: 900,
        render: (row) => (
          <span className="sb-mono" title={row.expression}>
            {row.expression}
          </span>
        ),
      },
      {
        key: "queues",
        title: t("topic.queues"),
        width: 80,
        from: 720,
        align: "right",
        render: (row) => row.queues.length,
      },
      {
        key: "lag",
        title: t("topic.lag"),
        width: 110,
        align: "right",
        render: (row) => <Lag of={row} />,
      },
      {
        key: "behind",
        title: t("topic.behind"),
        width: 100,
        align: "right",
        render: (row) => <Span seconds={row.lag_s} why={t("why.behind")} />,
      },
      {
        key: "rate",
        title: t("topic.rate"),
        width: 100,
        from: 560,
        align: "right",
        render: (row) => <Rate value={row.consume_rate} why={t("why.rate")} />,
      },
      {
        key: "eta",
        title: t("topic.eta"),
        width: 110,
        from: 640,
        align: "right",
        render: (row) => <Pace figures={row} />,
      },
      { key: "slowest", title: "", width: 230, from: 1080, render: (row) => <Slowest row={row} /> },
    ],
    [t, cluster],
  );
}

function Slowest({ row }: { row: Subscription }) {
  const t = useTexts();
  const slowest = row.queues.length > 1 ? slowestOf(row.queues) : null;
  if (!slowest) return null;
  return (
    <Text size="xs" c="dimmed" truncate>
      {t("topic.slowest", { queue: slowest.queue, broker: slowest.broker })}
    </Text>
  );
}
