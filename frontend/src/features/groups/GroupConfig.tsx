/** What each broker keeps about a group, and how its queues are handed out. Asked now. */
import {
  Alert,
  Button,
  Group as Row,
  NumberInput,
  Select,
  Skeleton,
  Stack,
  Table,
  Text,
} from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, put } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { IfMay } from "@/shared/ui/IfMay";
import { Panel } from "@/shared/ui/Panel";
import { ResultView, TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import { CONFIG } from "./EditGroup";
import type { Group } from "./group";
import { FLAGS, type GroupSpec, NUMBER_NAMES } from "./GroupForm";
import { useTexts } from "./texts";

const MODES = "/clusters/{cluster}/groups/{group}/modes/";

interface Props {
  cluster: string;
  name: string;
  group: Group | undefined;
}

export function GroupConfig({ cluster, name, group }: Props) {
  const t = useTexts();
  const config = useGet(CONFIG, { params: { cluster, group: name } });
  return (
    <Stack gap="md">
      <Panel
        title={t("config.title")}
        aside={
          <Text size="xs" c="dimmed">
            {t("config.asked")}
          </Text>
        }
      >
        {config.isError && <ProblemAlert error={config.error} onRetry={() => void config.refetch()} />}
        {config.isPending && <Skeleton height={240} />}
        {config.data && <ConfigTable config={config.data} name={name} />}
      </Panel>
      <Modes cluster={cluster} name={name} topics={(group?.topics ?? []).map((one) => one.topic)} />
    </Stack>
  );
}

function ConfigTable({ config, name }: { config: Answer<typeof CONFIG>; name: string }) {
  const t = useTexts();
  const fields: (keyof GroupSpec)[] = [...FLAGS, ...NUMBER_NAMES];
  return (
    <Table.ScrollContainer minWidth={260 + config.brokers.length * 130}>
      <Table verticalSpacing={6} aria-label={t("config.label", { group: name })}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("config.broker")}</Table.Th>
            {config.brokers.map((broker) => (
              <Table.Th key={broker.broker}>
                {broker.broker}
                {(!broker.ok || broker.read_back === null) && (
                  <Text size="xs" c="dimmed">
                    {broker.ok ? t("config.missing") : `${t("config.silent")}: ${broker.detail}`}
                  </Text>
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {fields.map((field) => (
            <FieldRow
              key={field}
              field={field}
              specs={config.brokers.map((one) => one.read_back as GroupSpec | null)}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function FieldRow({ field, specs }: { field: keyof GroupSpec; specs: (GroupSpec | null)[] }) {
  const t = useTexts();
  const shared = useShared();
  const known = specs.flatMap((spec) => (spec ? [spec[field]] : []));
  const isDifferent = new Set(known).size > 1;
  return (
    <Table.Tr>
      <Table.Td>
        {t(`config.field.${field}`)} {isDifferent && <Tag tone="warn">{t("config.differs")}</Tag>}
      </Table.Td>
      {specs.map((spec, at) => (
        <Table.Td key={at}>
          {spec && (typeof spec[field] === "boolean" ? shared(spec[field] ? "yes" : "no") : spec[field])}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

function Modes({ cluster, name, topics }: { cluster: string; name: string; topics: string[] }) {
  const t = useTexts();
  const modes = useGet(MODES, { params: { cluster, group: name } });
  const set = (modes.data?.brokers ?? []).flatMap((broker) =>
    Object.entries((broker.read_back ?? {}) as Record<string, string>).map(([topic, mode]) => ({
      broker: broker.broker,
      topic,
      mode,
    })),
  );
  return (
    <Panel title={t("config.modes")}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t("config.modesHint")}
        </Text>
        {modes.isError && <ProblemAlert error={modes.error} onRetry={() => void modes.refetch()} />}
        {modes.data && set.length === 0 && <Text size="sm">{t("config.modesNone")}</Text>}
        {set.map((row) => (
          <Row key={row.broker + row.topic} gap="xs">
            <Text size="sm">{row.topic}</Text>
            <Tag tone="info">{row.mode}</Tag>
            <Text size="xs" c="dimmed">
              {row.broker}
            </Text>
          </Row>
        ))}
        <IfMay role="operator" cluster={cluster} name={name}>
          <ModeForm cluster={cluster} name={name} topics={topics} />
        </IfMay>
      </Stack>
    </Panel>
  );
}

function ModeForm({ cluster, name, topics }: { cluster: string; name: string; topics: string[] }) {
  const t = useTexts();
  const client = useQueryClient();
  const [topic, setTopic] = useState<string | null>(null);
  const [mode, setMode] = useState<"pull" | "pop">("pop");
  const [share, setShare] = useState(0);
  const change = useMutation({
    mutationFn: (body: { topic: string; mode: "pull" | "pop"; share: number }) =>
      put(MODES, { params: { cluster, group: name }, body }),
    onSuccess: () => refresh(client, MODES),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (topic) change.mutate({ topic, mode, share });
      }}
    >
      <Row gap="sm" align="flex-end">
        <Select
          label={t("config.topic")}
          data={topics}
          value={topic}
          onChange={setTopic}
          searchable
          w={260}
        />
        <Select
          label={t("config.mode")}
          data={[
            { value: "pull", label: t("config.pull") },
            { value: "pop", label: t("config.pop") },
          ]}
          value={mode}
          onChange={(value) => setMode(value as "pull" | "pop")}
          w={100}
        />
        <NumberInput
          label={`${t("config.share")} (${t("config.shareHint")})`}
          min={0}
          max={1024}
          value={share}
          onChange={(value) => setShare(Number(value) || 0)}
          w={210}
        />
        <Button type="submit" variant="default" disabled={!topic} loading={change.isPending}>
          {t("config.modeSet")}
        </Button>
      </Row>
      {change.isError && <ProblemAlert error={change.error} isWrite />}
      {change.data && (
        <Alert mt="sm" className="sb-info" styles={TONED}>
          <ResultView result={change.data} />
        </Alert>
      )}
    </form>
  );
}
