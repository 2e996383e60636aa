/** What became of a message: sent, stored, waited, tried, per group; and what of that nobody can know. */
import { Alert, Group, List, Skeleton, Stack, Text, Tooltip } from "@mantine/core";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import { formatMilliseconds } from "@/shared/format/durations";
import { formatExactTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import { useTexts } from "./texts";
import { type Bar, type Lane, type Story, type TraceEvent, timelineOf } from "./trace";
import classes from "./Trace.module.css";

export function TraceView({ cluster, topic, msgId }: { cluster: string; topic: string; msgId: string }) {
  const read = useGet("/clusters/{cluster}/messages/{id}/trace/", {
    params: { cluster, id: msgId },
    query: { topic },
  });
  if (read.data) return <StoryView story={read.data} />;
  if (read.isError) return <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />;
  return <Skeleton height={220} />;
}

function StoryView({ story }: { story: Story }) {
  const t = useTexts();
  return (
    <Stack gap="md">
      <Panel
        title={t("trace.title")}
        aside={
          <Text size="xs" c="dimmed">
            {t("trace.copies", { count: story.copies.length })}
          </Text>
        }
      >
        {story.events.length === 0 ? (
          <Text c="dimmed">{t("trace.none")}</Text>
        ) : (
          <Chart events={story.events} />
        )}
      </Panel>
      {story.events.length > 0 && (
        <Panel title={t("trace.events")}>
          <Events story={story} />
        </Panel>
      )}
      {story.groups.length > 0 && (
        <Panel title={t("trace.groups")}>
          <Group gap="lg">
            {story.groups.map((stand) => (
              <Group key={stand.group} gap={8}>
                <Text size="sm">{stand.group}</Text>
                <Stand hasPassed={stand.has_passed} />
              </Group>
            ))}
          </Group>
        </Panel>
      )}
      {story.doubts.length > 0 && (
        <Alert className="sb-info" styles={TONED} title={t("trace.doubts")}>
          <List size="sm">
            {story.doubts.map((doubt) => (
              <List.Item key={doubt}>{doubt}</List.Item>
            ))}
          </List>
        </Alert>
      )}
    </Stack>
  );
}

function Stand({ hasPassed }: { hasPassed: boolean | null }) {
  const t = useTexts();
  if (hasPassed === null) return <StateBadge tone="quiet" label={t("trace.unknownStand")} />;
  return (
    <StateBadge tone={hasPassed ? "ok" : "warn"} label={t(hasPassed ? "trace.passed" : "trace.notPassed")} />
  );
}

/** For the eyes; the list below says the same. */
function Chart({ events }: { events: readonly TraceEvent[] }) {
  const t = useTexts();
  const locale = useLocale();
  const { lanes, ticks } = useMemo(() => timelineOf(events), [events]);
  return (
    <div aria-hidden data-testid="trace-chart">
      <div className={classes.chart}>
        {lanes.map((lane) => (
          <LaneRow key={`${lane.kind} ${lane.group ?? ""}`} lane={lane} />
        ))}
        <span />
        <div className={classes.axis}>
          {ticks.map((tick, at) => (
            <span
              key={tick.sinceMs}
              className={classes.tick}
              data-edge={at === 0 ? "first" : tick.at === 1 ? "last" : undefined}
              style={{ left: `${tick.at * 100}%` }}
            >
              {at === 0 ? "0" : `+${formatMilliseconds(tick.sinceMs, locale)}`}
            </span>
          ))}
        </div>
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        {t("trace.scale")}
      </Text>
    </div>
  );
}

function LaneRow({ lane }: { lane: Lane }) {
  const t = useTexts();
  const name =
    lane.kind !== "group"
      ? t(`trace.lane.${lane.kind}`)
      : lane.group
        ? t("trace.lane.group", { group: lane.group })
        : t("trace.lane.nobody");
  return (
    <>
      <span className={classes.name} title={name}>
        {name}
      </span>
      <div className={classes.lane}>
        {lane.bars.map((bar, at) => (
          <BarMark key={at} bar={bar} />
        ))}
      </div>
    </>
  );
}

function BarMark({ bar }: { bar: Bar }) {
  const words = useEventWords();
  const { event } = bar;
  const style =
    event.kind === "store"
      ? { left: `${bar.from * 100}%` }
      : { left: `min(${bar.from * 100}%, calc(100% - 6px))`, width: `${(bar.to - bar.from) * 100}%` };
  return (
    <Tooltip label={`${words.kind(event)} · ${words.detail(event)}`}>
      <span className={`${classes.bar} sb-${toneOf(event)}`} data-kind={event.kind} style={style} />
    </Tooltip>
  );
}

function toneOf(event: TraceEvent): Tone {
  if (event.kind === "wait") return "quiet";
  if (event.is_ok === null) return "warn";
  if (!event.is_ok) return "bad";
  return event.kind === "try" ? "ok" : "info";
}

function Events({ story }: { story: Story }) {
  const locale = useLocale();
  const words = useEventWords(story);
  const first = Date.parse(story.events[0]?.at ?? "");
  return (
    <ol className={classes.events}>
      {story.events.map((event, at) => (
        <li key={at} className={classes.event}>
          <time className="sb-figure" dateTime={event.at ?? undefined}>
            {event.at ? formatExactTime(event.at, locale) : ""}
          </time>
          <span className={`${classes.since} sb-figure`}>
            {event.at && at > 0 ? `+${formatMilliseconds(Date.parse(event.at) - first, locale)}` : ""}
          </span>
          <span>
            <StateBadge tone={toneOf(event)} label={words.kind(event)} />
          </span>
          <span>
            {event.group && <b>{event.group}</b>} {words.detail(event)}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Events in words of this language; codes stay what clients call them. */
function useEventWords(story?: Story) {
  const t = useTexts();
  const locale = useLocale();
  const took = (event: TraceEvent) =>
    event.took_ms === null ? "" : t("trace.took", { time: formatMilliseconds(event.took_ms, locale) });
  function detail(event: TraceEvent): string {
    switch (event.kind) {
      case "send":
        return [event.host ? t("trace.sentTo", { host: event.host }) : "", took(event)]
          .filter(Boolean)
          .join(" · ");
      case "store": {
        const copy = story?.copies.find((one) => one.stored_at === event.at) ?? story?.copies[0];
        return copy
          ? t("trace.storedIn", { broker: copy.broker, queue: copy.queue, offset: copy.queue_offset })
          : event.text;
      }
      case "transaction":
        return event.code ?? event.text;
      case "wait":
        return t("trace.waited", { time: formatMilliseconds(event.took_ms ?? 0, locale) });
      case "try": {
        const which =
          event.attempt === null ? t("trace.aTry") : t("trace.attempt", { attempt: event.attempt });
        const end =
          event.is_ok === null
            ? t("trace.unknownEnd")
            : (event.code ?? t(event.is_ok ? "trace.ok" : "trace.failed"));
        return [which, end, took(event)].filter(Boolean).join(" · ");
      }
    }
  }
  return { kind: (event: TraceEvent) => t(`trace.kind.${event.kind}`), detail };
}
