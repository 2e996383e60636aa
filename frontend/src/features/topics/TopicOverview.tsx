/** A topic over time, how its groups keep up, whose it is, and where it is not what was declared. */
import { Alert, List, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { About as AboutOf } from "@/shared/about/AboutFields";
import { AboutPanel } from "@/shared/about/AboutPanel";
import { patch } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { RangePicker } from "@/shared/chart/RangePicker";
import type { Range } from "@/shared/chart/ranges";
import { SeriesChart, type SeriesLine } from "@/shared/chart/SeriesChart";
import { compareWhole, formatRate, formatScale } from "@/shared/format/numbers";
import { useRights } from "@/shared/session/session";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { TONED } from "@/shared/ui/plan_views";
import { useTexts } from "./texts";
import type { Topic } from "./topic";

const PATH = "/clusters/{cluster}/topics/{topic}/";
/** More lines than this cannot be told apart. */
const MOST_LINES = 5;

interface Props {
  cluster: string;
  name: string;
  topic: Topic | undefined;
  range: Range;
  onRange: (range: Range) => void;
}

export function TopicOverview({ cluster, name, topic, range, onRange }: Props) {
  return (
    <Stack gap="md">
      {topic && topic.drift.length > 0 && <Drift topic={topic} />}
      <Charts {...{ cluster, name, topic, range, onRange }} />
      {topic && <About cluster={cluster} topic={topic} />}
    </Stack>
  );
}

function Charts({ cluster, name, topic, range, onRange }: Props) {
  const t = useTexts();
  const locale = useLocale();
  const rate = useMemo<SeriesLine[]>(
    () => [{ subject: "topic", name, metric: "put_rate", label: t("figure.rate") }],
    [name, t],
  );
  const dead = useMemo<SeriesLine[]>(
    () => [{ subject: "topic", name, metric: "messages", label: t("figure.messages") }],
    [name, t],
  );
  const lag = useFurthestBehind(cluster, name);
  const count = (value: number) => formatScale(value, locale);
  return (
    <Panel title={t("chart.title")} aside={<RangePicker value={range} onChange={onRange} />}>
      <Stack gap="lg">
        <SeriesChart
          {...{ cluster, range }}
          title={t("chart.in")}
          lines={rate}
          format={(value) => formatRate(value, locale)}
        />
        {lag.length > 0 && (
          <SeriesChart
            {...{ cluster, range }}
            title={`${t("chart.lag")} · ${t("chart.topGroups", { count: lag.length })}`}
            lines={lag}
            format={count}
          />
        )}
        {topic?.kind === "dlq" && (
          <SeriesChart {...{ cluster, range }} title={t("chart.deadLetters")} lines={dead} format={count} />
        )}
      </Stack>
    </Panel>
  );
}

/** History has the lag of a group over all its topics, and the chart's title says so. */
function useFurthestBehind(cluster: string, topic: string): SeriesLine[] {
  const groups = useGet("/clusters/{cluster}/topics/{topic}/groups/", { params: { cluster, topic } });
  const names = (groups.data?.results ?? [])
    .slice()
    .sort((left, right) => -compareWhole(left.lag ?? "-1", right.lag ?? "-1"))
    .slice(0, MOST_LINES)
    .map((row) => row.group)
    .join("\n");
  return useMemo(
    () =>
      names === ""
        ? []
        : names
            .split("\n")
            .map((name) => ({ subject: "group" as const, name, metric: "lag" as const, label: name })),
    [names],
  );
}

function Drift({ topic }: { topic: Topic }) {
  const t = useTexts();
  return (
    <Alert className="sb-warn" styles={TONED} title={t("drift.title")}>
      <List size="sm">
        {topic.drift.map((row) => (
          <List.Item key={row.broker + row.field}>
            {row.broker === ""
              ? t("drift.nowhere")
              : t(row.field === "" ? "drift.missing" : "drift.row", { ...row })}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

function About({ cluster, topic }: { cluster: string; topic: Topic }) {
  const client = useQueryClient();
  const rights = useRights();
  async function save(body: AboutOf) {
    await patch(PATH, { params: { cluster, topic: topic.name }, body });
    await refresh(client, PATH, "/clusters/{cluster}/topics/");
  }
  return <AboutPanel about={topic} mayEdit={rights.may("operator", cluster, topic.name)} onSave={save} />;
}
