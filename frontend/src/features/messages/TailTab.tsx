/** Messages as they come. Nothing is consumed: groups do not notice. */
import { Button, Group, Text, TextInput } from "@mantine/core";
import { IconAccessPoint, IconEraser, IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { useState } from "react";
import { formatTime } from "@/shared/format/times";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge } from "@/shared/ui/StateBadge";
import { MessageTable } from "./MessageTable";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";
import { useTail } from "./use_tail";

export function TailTab({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const [topic, setTopic] = useState(search.topic);
  const [tag, setTag] = useState(search.tag);
  // An address with a topic follows it at once.
  const [since, setSince] = useState<number | null>(() => (search.topic === "" ? null : Date.now()));
  const isOn = since !== null;
  const tail = useTail(cluster, search.topic, search.tag, isOn && search.topic !== "");
  function start() {
    if (search.tag !== tag.trim()) {
      tail.restart();
      tail.clear();
    }
    setSince(Date.now());
    setSearch({ topic: topic.trim(), tag: tag.trim() }, { replace: false });
  }
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (topic.trim() !== "") start();
        }}
      >
        <Group gap="sm" align="flex-end" mb="xs">
          <TopicPicker cluster={cluster} value={topic} onChange={setTopic} all w={260} />
          <TextInput
            label={t("field.tag")}
            placeholder={t("tail.tagHint")}
            value={tag}
            onChange={(event) => setTag(event.currentTarget.value)}
            w={150}
          />
          <Button
            type="submit"
            leftSection={<IconPlayerPlay size={14} />}
            disabled={
              topic.trim() === "" || (isOn && topic.trim() === search.topic && tag.trim() === search.tag)
            }
          >
            {t("tail.start")}
          </Button>
          <Button
            variant="default"
            leftSection={<IconPlayerStop size={14} />}
            disabled={!isOn}
            onClick={() => setSince(null)}
          >
            {t("tail.stop")}
          </Button>
          <Button
            variant="default"
            leftSection={<IconEraser size={14} />}
            disabled={tail.messages.length === 0}
            onClick={tail.clear}
          >
            {t("tail.clear")}
          </Button>
        </Group>
      </form>
      {search.topic === "" ? (
        <EmptyState icon={<IconAccessPoint size={28} />} title={t("tail.idle")}>
          {t("tail.idleDetail")}
        </EmptyState>
      ) : (
        <Followed cluster={cluster} tail={tail} since={since} />
      )}
    </>
  );
}

function Followed({
  cluster,
  tail,
  since,
}: {
  cluster: string;
  tail: ReturnType<typeof useTail>;
  since: number | null;
}) {
  const t = useTexts();
  const locale = useLocale();
  const isStuck = tail.error !== null && tail.error.status >= 400 && tail.error.status < 500;
  return (
    <>
      <Group gap="sm" mb="xs" role="status">
        <TailBadge
          isOn={since !== null && !isStuck}
          isHidden={tail.isHidden}
          isFailing={tail.error !== null}
        />
        <Text size="sm">{t("tail.kept", { count: tail.messages.length })}</Text>
        {tail.dropped > 0 && (
          <Text size="sm" c="dimmed">
            {t("tail.dropped", { count: tail.dropped })}
          </Text>
        )}
        {tail.problems.map((problem) => (
          <Text key={problem} size="sm" c="dimmed">
            {problem}
          </Text>
        ))}
      </Group>
      {tail.error !== null && <ProblemAlert error={tail.error} />}
      <MessageTable
        cluster={cluster}
        label={t("tail.label")}
        messages={tail.messages}
        empty={
          <EmptyState
            icon={<IconAccessPoint size={28} />}
            title={t(since === null ? "tail.stopped" : "tail.waiting")}
          >
            {since !== null && t("tail.waitingDetail", { time: formatTime(since, locale) })}
          </EmptyState>
        }
      />
    </>
  );
}

function TailBadge({ isOn, isHidden, isFailing }: { isOn: boolean; isHidden: boolean; isFailing: boolean }) {
  const t = useTexts();
  if (!isOn) return <StateBadge tone="quiet" label={t("tail.stopped")} />;
  if (isHidden) return <StateBadge tone="quiet" label={t("tail.hidden")} />;
  return (
    <StateBadge tone={isFailing ? "warn" : "ok"} label={t(isFailing ? "tail.retrying" : "tail.following")} />
  );
}
