/** What a broker does now and did lately: rates, disk, its log; its process as its host's agent sees it. */
import { Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import type { Range } from "@/shared/chart/ranges";
import { RangePicker } from "@/shared/chart/RangePicker";
import { SeriesChart } from "@/shared/chart/SeriesChart";
import { formatBytes } from "@/shared/format/bytes";
import { difference, formatRate, formatRatio } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { Bytes, Count, Rate, Ratio } from "@/shared/ui/Figure";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Panel } from "@/shared/ui/Panel";
import { ExactTime, RelativeTime } from "@/shared/ui/RelativeTime";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import type { Broker } from "./broker_data";
import { logOf, ratesOf } from "./broker_state";
import { KeptMessages } from "./KeptMessages";
import { ProcessState } from "./NameServers";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  broker: Broker;
  range: Range;
  onRange: (range: Range) => void;
}

export function RuntimeTab({ cluster, broker, range, onRange }: Props) {
  return (
    <Stack gap="md">
      <Tiles broker={broker} />
      <KeptMessages broker={broker} />
      <Charts cluster={cluster} group={broker.broker_name} range={range} onRange={onRange} />
      <About broker={broker} />
    </Stack>
  );
}

function Tiles({ broker }: { broker: Broker }) {
  const t = useTexts();
  const locale = useLocale();
  const isStale = useIsStale(broker.live?.sampled_at);
  const rates = ratesOf(broker.live);
  const log = logOf(broker.live);
  const flushed = difference(log.maxOffset ?? null, log.flushedOffset ?? null);
  const dispatched = difference(log.maxOffset ?? null, log.dispatchedOffset ?? null);
  const missed = rates.pullsMissed;
  return (
    <StatTiles>
      <StatTile label={t("one.put")} isStale={isStale}>
        <Rate value={rates.put} />
      </StatTile>
      <StatTile label={t("one.got")} isStale={isStale}>
        <Rate value={rates.got} />
      </StatTile>
      <StatTile
        label={t("one.pulls")}
        isStale={isStale}
        note={
          missed === undefined
            ? undefined
            : t("one.pullsNote", { missed: formatRate(missed, locale).replace("/s", "") })
        }
      >
        <Rate value={rates.pullsFound} />
      </StatTile>
      <StatTile label={t("one.disk")} isStale={isStale} note={t("one.diskNote")}>
        <Ratio value={broker.live?.disk_ratio} />
      </StatTile>
      <StatTile label={t("one.stored")} isStale={isStale}>
        <Bytes value={difference(log.maxOffset ?? null, log.minOffset ?? null)} />
      </StatTile>
      <StatTile label={t("one.unflushed")} isStale={isStale}>
        <Bytes value={flushed} />
      </StatTile>
      <StatTile label={t("one.undispatched")} isStale={isStale}>
        <Bytes value={dispatched} />
      </StatTile>
    </StatTiles>
  );
}

interface ChartsProps {
  cluster: string;
  group: string;
  range: Range;
  onRange: (range: Range) => void;
}

function Charts({ cluster, group, range, onRange }: ChartsProps) {
  const t = useTexts();
  const shared = useShared();
  const locale = useLocale();
  const lines = useMemo(() => {
    const about = { subject: "broker", name: group } as const;
    return {
      rates: [
        { ...about, metric: "put_rate", label: t("one.in") },
        { ...about, metric: "got_rate", label: t("one.out") },
      ],
      disk: [{ ...about, metric: "disk_ratio", label: t("one.diskChart") }],
      lag: [{ ...about, metric: "slave_lag_bytes", label: t("one.lagChart") }],
    } as const;
  }, [group, t]);
  const shape = { cluster, range, height: 150 };
  return (
    <Panel title={t("one.charts", { name: group })} aside={<RangePicker value={range} onChange={onRange} />}>
      <SeriesChart
        title={t("one.rates")}
        lines={lines.rates}
        format={(value) => formatRate(value, locale)}
        {...shape}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} mt="md">
        <SeriesChart
          title={t("one.diskChart")}
          lines={lines.disk}
          format={(value) => formatRatio(value, locale)}
          {...shape}
        />
        <SeriesChart
          title={t("one.lagChart")}
          lines={lines.lag}
          format={(value) => formatBytes(Math.round(value), locale)}
          {...shape}
        />
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt={6}>
        {t("one.chartsNote")} {shared("chart.gap")}
      </Text>
    </Panel>
  );
}

function About({ broker }: { broker: Broker }) {
  const t = useTexts();
  const { process, live } = broker;
  return (
    <Panel title={t("one.process")}>
      <KeyValue
        items={[
          [
            t("one.address"),
            <span key="address" className="sb-mono">
              {broker.address}
            </span>,
          ],
          [t("one.version"), live?.version],
          [t("one.booted"), <ExactTime key="booted" at={live?.booted_at} />],
          process && [t("one.host"), process.host],
          process && [t("one.observed"), <ProcessState key="observed" process={process} />],
          process && [t("one.since"), <RelativeTime key="since" at={process.since} />],
          process && [
            t("one.pid"),
            process.pid === null ? null : <span className="sb-figure">{process.pid}</span>,
          ],
          process && [t("one.crashes"), <Count key="crashes" value={process.crash_count} />],
          process?.last_exit ? [t("one.lastExit"), process.last_exit] : null,
          process?.next_start_at
            ? [t("one.nextStart"), <RelativeTime key="next" at={process.next_start_at} />]
            : null,
        ]}
      />
      {process === null && (
        <Group mt="xs">
          <Text size="sm" c="dimmed">
            {t("one.notOurs")}
          </Text>
        </Group>
      )}
    </Panel>
  );
}
