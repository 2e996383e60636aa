/** Sends one message and says what the broker said. */
import {
  Button,
  Checkbox,
  Collapse,
  Group,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconSend } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { contentOf, type Draft, EMPTY_DRAFT, isSendable, keysOf } from "@/shared/message/content";
import { ContentFields } from "@/shared/message/ContentFields";
import { type Sent, sentOf, SentView } from "@/shared/message/SentView";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { TimeField } from "@/shared/ui/TimeField";
import { type Extras, extrasOf, NO_EXTRAS } from "./send_extras";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";

export function SendTab({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const [topic, setTopic] = useState(search.topic);
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [extras, setExtras] = useState<Extras>(NO_EXTRAS);
  const send = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/messages/", {
        params: { cluster },
        body: { topic: topic.trim(), ...contentOf(draft), ...extrasOf(extras) },
        idempotencyKey: crypto.randomUUID?.() ?? String(Math.random()),
      }),
  });
  const canSend = topic.trim() !== "" && isSendable(draft);
  const refused = send.isError ? sentOf(send.error) : null;
  const sent: Sent | null = send.data ?? refused;
  const firstKey = keysOf(draft.keys)[0];
  return (
    <Stack gap="md" maw={860} w="100%">
      <Panel>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (canSend) send.mutate();
          }}
        >
          <Stack gap="sm">
            <TopicPicker
              cluster={cluster}
              value={topic}
              onChange={setTopic}
              required
              error={fieldError(asProblem(send.error), "topic")}
            />
            <ContentFields
              draft={draft}
              onChange={(changes) => setDraft((before) => ({ ...before, ...changes }))}
            />
            <ExtraFields
              extras={extras}
              onChange={(changes) => setExtras((before) => ({ ...before, ...changes }))}
            />
            <Group justify="space-between">
              <Text size="xs" c="dimmed">
                {t("send.once")}
              </Text>
              <Button
                type="submit"
                leftSection={<IconSend size={14} />}
                disabled={!canSend}
                loading={send.isPending}
              >
                {t("send.send")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Panel>
      {sent && (
        <SentView sent={sent}>
          <SentLinks cluster={cluster} sent={sent} firstKey={firstKey} setSearch={setSearch} />
        </SentView>
      )}
      {send.isError && !refused && <ProblemAlert error={send.error} isWrite />}
    </Stack>
  );
}

function SentLinks({
  cluster,
  sent,
  firstKey,
  setSearch,
}: { cluster: string; sent: Sent; firstKey: string | undefined } & Pick<TabProps, "setSearch">) {
  const t = useTexts();
  const navigate = useNavigate();
  return (
    <Group gap="xs">
      {sent.fate === "sent" && sent.offset_id && (
        <Button
          variant="default"
          onClick={() =>
            void navigate({
              to: "/clusters/$cluster/messages/$id",
              params: { cluster, id: sent.offset_id },
              search: { topic: sent.topic },
            })
          }
        >
          {t("send.open")}
        </Button>
      )}
      {firstKey !== undefined && sent.fate !== "refused" && (
        <Button
          variant="default"
          onClick={() =>
            setSearch({ tab: "search", by: "key", topic: sent.topic, key: firstKey }, { replace: false })
          }
        >
          {t("send.findByKey")}
        </Button>
      )}
    </Group>
  );
}

const WHEN = ["now", "level", "ms", "at"] as const;

function ExtraFields({ extras, onChange }: { extras: Extras; onChange: (changes: Partial<Extras>) => void }) {
  const t = useTexts();
  const [isOpen, more] = useDisclosure(false);
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={more.toggle}
        aria-expanded={isOpen}
        rightSection={<IconChevronDown size={13} style={{ rotate: isOpen ? "180deg" : undefined }} />}
      >
        {t("send.more")}
      </Button>
      <Collapse expanded={isOpen}>
        <Stack gap="sm" pt="xs">
          <Group gap="sm" align="flex-end">
            <SegmentedControl
              aria-label={t("send.when")}
              value={extras.when}
              onChange={(when) => onChange({ when: when as Extras["when"] })}
              data={WHEN.map((when) => ({ value: when, label: t(`send.${when}`) }))}
            />
            {extras.when === "level" && (
              <NumberInput
                label={t("send.levelField")}
                value={extras.level}
                min={1}
                max={64}
                onChange={(level) => onChange({ level: Number(level) || 1 })}
                w={120}
              />
            )}
            {extras.when === "ms" && (
              <NumberInput
                label={t("send.msField")}
                value={extras.ms}
                min={1}
                onChange={(ms) => onChange({ ms: Number(ms) || 1 })}
                w={160}
              />
            )}
            {extras.when === "at" && (
              <TimeField label={t("send.atField")} value={extras.at} onChange={(at) => onChange({ at })} />
            )}
          </Group>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
            <TextInput
              label={t("send.sharding")}
              description={t("send.shardingHint")}
              value={extras.sharding}
              onChange={(event) => onChange({ sharding: event.currentTarget.value })}
            />
            <Checkbox
              mt="lg"
              label={t("send.transactional")}
              description={t("send.transactionalHint")}
              checked={extras.isTransactional}
              onChange={(event) => onChange({ isTransactional: event.currentTarget.checked })}
            />
          </SimpleGrid>
        </Stack>
      </Collapse>
    </div>
  );
}
