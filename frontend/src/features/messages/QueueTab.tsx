/** Along one queue: from an offset on, or what lies before it. */
import { Button, Group, Select, Text, TextInput } from "@mantine/core";
import {
  IconArrowBarToLeft,
  IconArrowBarToRight,
  IconChevronLeft,
  IconChevronRight,
  IconListNumbers,
} from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { MessageTable } from "./MessageTable";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";

const PAGE = 50;

export function QueueTab({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const isChosen = search.topic !== "" && search.broker !== "" && search.queue !== "";
  return (
    <>
      <Chooser key={search.topic} cluster={cluster} search={search} setSearch={setSearch} />
      {isChosen ? (
        <QueuePage cluster={cluster} search={search} setSearch={setSearch} />
      ) : (
        <EmptyState icon={<IconListNumbers size={28} />} title={t("queueTab.choose")} />
      )}
    </>
  );
}

function Chooser({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const [topic, setTopic] = useState(search.topic);
  const routes = useGet(
    "/clusters/{cluster}/topics/{topic}/routes/",
    { params: { cluster, topic: search.topic } },
    { enabled: search.topic !== "", staleTime: 30_000 },
  );
  const queues = (routes.data?.routes ?? []).flatMap((route) =>
    Array.from({ length: route.read_queues ?? 0 }, (_, queue) => `${route.broker}/${queue}`),
  );
  const value = search.broker && search.queue !== "" ? `${search.broker}/${search.queue}` : null;
  const go = () =>
    setSearch({ topic: topic.trim(), broker: "", queue: "", offset: "", back: "" }, { replace: false });
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go();
        }}
      >
        <Group gap="sm" align="flex-end" mb="xs">
          <TopicPicker cluster={cluster} value={topic} onChange={setTopic} all w={260} />
          <Button
            type="submit"
            variant="default"
            disabled={topic.trim() === "" || topic.trim() === search.topic}
          >
            {t("queueTab.go")}
          </Button>
          <Select
            label={t("field.queue")}
            value={value}
            data={value !== null && !queues.includes(value) ? [value, ...queues] : queues}
            disabled={search.topic === ""}
            searchable
            onChange={(chosen) => {
              const at = chosen?.lastIndexOf("/") ?? -1;
              if (chosen)
                setSearch(
                  { broker: chosen.slice(0, at), queue: chosen.slice(at + 1), offset: "", back: "1" },
                  { replace: false },
                );
            }}
            nothingFoundMessage={t("queueTab.noQueues")}
            w={220}
          />
        </Group>
      </form>
      {routes.isError && <ProblemAlert error={routes.error} onRetry={() => void routes.refetch()} />}
    </>
  );
}

function QueuePage({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const locale = useLocale();
  const page = useGet(
    "/clusters/{cluster}/messages/queue/",
    {
      params: { cluster },
      query: {
        topic: search.topic,
        broker: search.broker,
        queue: Number(search.queue),
        limit: PAGE,
        direction: search.back === "1" ? "previous" : "next",
        ...(search.offset !== "" && { offset: search.offset }),
      },
    },
    { keepPrevious: true, staleTime: Infinity },
  );
  const go = (offset: string, back: boolean) =>
    setSearch({ offset, back: back ? "1" : "" }, { replace: false });
  const data = page.data;
  return (
    <>
      <Group gap="xs" mb="xs">
        <Button.Group>
          <Button
            variant="default"
            leftSection={<IconArrowBarToLeft size={14} />}
            onClick={() => go("", false)}
          >
            {t("queueTab.first")}
          </Button>
          <Button
            variant="default"
            leftSection={<IconChevronLeft size={14} />}
            disabled={!data?.previous}
            onClick={() => data?.previous && go(data.previous, true)}
          >
            {t("queueTab.previous")}
          </Button>
          <Button
            variant="default"
            rightSection={<IconChevronRight size={14} />}
            disabled={!data?.next}
            onClick={() => data?.next && go(data.next, false)}
          >
            {t("queueTab.next")}
          </Button>
          <Button
            variant="default"
            rightSection={<IconArrowBarToRight size={14} />}
            onClick={() => go("", true)}
          >
            {t("queueTab.last")}
          </Button>
        </Button.Group>
        <OffsetBox key={search.offset} value={search.offset} onGo={(offset) => go(offset, false)} />
        {data && (
          <Text size="xs" c="dimmed">
            {t("queueTab.kept", {
              min: formatCount(data.min_offset, locale),
              max: formatCount(data.max_offset, locale),
            })}
          </Text>
        )}
      </Group>
      {data?.problems.map((problem) => (
        <Text key={problem} size="sm" c="dimmed">
          {problem}
        </Text>
      ))}
      <MessageTable
        cluster={cluster}
        label={t("queueTab.label", { queue: search.queue })}
        messages={data?.messages}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isFetching}
        empty={<EmptyState icon={<IconListNumbers size={28} />} title={t("queueTab.empty")} />}
      />
    </>
  );
}

function OffsetBox({ value, onGo }: { value: string; onGo: (offset: string) => void }) {
  const t = useTexts();
  const [typed, setTyped] = useState(value);
  const isFine = /^\d{1,19}$/.test(typed);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isFine) onGo(typed);
      }}
    >
      <TextInput
        aria-label={t("field.offset")}
        placeholder={t("field.offset")}
        value={typed}
        inputMode="numeric"
        error={typed !== "" && !isFine}
        onChange={(event) => setTyped(event.currentTarget.value)}
        w={150}
      />
    </form>
  );
}
