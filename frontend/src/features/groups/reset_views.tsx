/** What a reset would do and what it did, queue by queue. */
import { Alert, ScrollArea, Stack, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { formatCount, toBigInt } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { Count } from "@/shared/ui/Figure";
import { TONED } from "@/shared/ui/plan_views";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import { StateBadge } from "@/shared/ui/StateBadge";
import { REACHABLE } from "@/shared/ui/scrolling";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

type Preview = components["schemas"]["Preview"];
type Done = components["schemas"]["Reset"];
type Queue = components["schemas"]["PreviewQueue"] & Partial<components["schemas"]["DoneQueue"]>;

export function PreviewView({ preview, isUndo = false }: { preview: Preview; isUndo?: boolean }) {
  const t = useTexts();
  const staying = preview.queues.filter((queue) => queue.to === null || queue.to === queue.committed).length;
  const isNothing = preview.queues.length > 0 && staying === preview.queues.length;
  return (
    <Stack gap="sm">
      <StatTiles>
        <StatTile label={t("reset.replayed")} tone={isSome(preview.replayed) ? "info" : undefined}>
          <Count value={preview.replayed} />
        </StatTile>
        <StatTile label={t("reset.skipped")} tone={isSome(preview.skipped) ? "warn" : undefined}>
          <Count value={preview.skipped} />
        </StatTile>
        <StatTile label={t("reset.staying")}>
          <Count value={staying} />
        </StatTile>
      </StatTiles>
      {!preview.is_complete && <Note tone="warn">{t("reset.incomplete")}</Note>}
      {isNothing && <Note tone="info">{t("reset.nothing")}</Note>}
      <Note tone="info">
        {preview.members_online === null
          ? t("reset.onlineUnknown")
          : preview.members_online === 0
            ? t("reset.offline")
            : t("reset.online", { count: preview.members_online })}
      </Note>
      <QueueTable queues={preview.queues} isUndo={isUndo} />
    </Stack>
  );
}

export function DoneView({ reset, children }: { reset: Done; children?: ReactNode }) {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <Note tone={reset.is_complete ? "ok" : "warn"}>
        {t(reset.is_complete ? "reset.done" : "reset.partly")}
      </Note>
      <QueueTable queues={reset.queues} isDone />
      {children}
    </Stack>
  );
}

function Note({ tone, children }: { tone: "ok" | "warn" | "info"; children: ReactNode }) {
  return (
    <Alert className={`sb-${tone}`} styles={TONED} role="status" py={6}>
      <Text size="sm">{children}</Text>
    </Alert>
  );
}

const isSome = (value: string | null) => value !== null && value !== "0";

interface TableProps {
  queues: readonly Queue[];
  isDone?: boolean;
  /** Shows what was consumed since the reset that is taken back. */
  isUndo?: boolean;
}

export function QueueTable({ queues, isDone = false, isUndo = false }: TableProps) {
  const t = useTexts();
  return (
    <ScrollArea.Autosize {...REACHABLE} mah={320} type="auto">
      <Table verticalSpacing={4} stickyHeader aria-label={t("reset.table")} miw={560}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("reset.topic")}</Table.Th>
            <Table.Th>{t("reset.broker")}</Table.Th>
            <Table.Th ta="right">{t("reset.queue")}</Table.Th>
            <Table.Th ta="right">{t("reset.from")}</Table.Th>
            <Table.Th ta="right">{t("reset.wanted")}</Table.Th>
            {isDone && <Table.Th ta="right">{t("reset.result")}</Table.Th>}
            {isUndo && <Table.Th ta="right">{t("reset.meanwhile")}</Table.Th>}
            <Table.Th>{t("reset.change")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {queues.map((queue) => (
            <QueueRow
              key={`${queue.topic}\n${queue.broker}\n${queue.queue}`}
              {...{ queue, isDone, isUndo }}
            />
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}

function QueueRow({ queue, isDone, isUndo }: { queue: Queue; isDone: boolean; isUndo: boolean }) {
  const t = useTexts();
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{queue.topic}</Table.Td>
      <Table.Td>{queue.broker}</Table.Td>
      <Table.Td ta="right">{queue.queue < 0 ? "" : queue.queue}</Table.Td>
      <Table.Td ta="right">
        {queue.committed === null ? (
          <Text size="xs" c="dimmed">
            {t("reset.notCommitted")}
          </Text>
        ) : (
          <Count value={queue.committed} />
        )}
      </Table.Td>
      <Table.Td ta="right">
        {queue.to === null ? (
          t("reset.stays")
        ) : (
          <b>
            <Count value={queue.to} />
          </b>
        )}
      </Table.Td>
      {isDone && (
        <Table.Td ta="right">
          {queue.read_back == null ? null : <Count value={queue.read_back} />}{" "}
          <StateBadge tone={queue.ok ? "ok" : "bad"} label={t(queue.ok ? "reset.moved" : "reset.notMoved")} />
        </Table.Td>
      )}
      {isUndo && (
        <Table.Td ta="right">
          <Count value={queue.consumed_meanwhile} />
        </Table.Td>
      )}
      <Table.Td>
        <Change queue={queue} />
        {queue.detail && (
          <Text size="xs" c="dimmed">
            {queue.detail}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function Change({ queue }: { queue: Queue }) {
  const t = useTexts();
  const locale = useLocale();
  if (isSome(queue.replayed))
    return <span>{t("reset.again", { count: formatCount(toBigInt(queue.replayed ?? 0), locale) })}</span>;
  if (isSome(queue.skipped))
    return <span>{t("reset.never", { count: formatCount(toBigInt(queue.skipped ?? 0), locale) })}</span>;
  return null;
}
