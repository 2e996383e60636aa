/** Where a group stands can be changed here, and every change can be taken back. */
import { Button, Group as Row, Modal, Skeleton, Stack, Table, Text } from "@mantine/core";
import { IconArrowBackUp, IconCopy, IconPlayerSkipForward, IconRewindBackward10 } from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { CloneDialog } from "./CloneDialog";
import type { Group } from "./group";
import type { Kind, Target } from "./reset_form";
import { QueueTable } from "./reset_views";
import { ResetDialog, UndoDialog } from "./ResetDialogs";
import { useTexts } from "./texts";

type ResetRow = components["schemas"]["ResetRow"];
type Open =
  | { kind: "reset"; to: Kind }
  | { kind: "undo"; reset: Pick<ResetRow, "id" | "created_at"> }
  | { kind: "queues"; reset: ResetRow }
  | { kind: "clone" };

interface Props {
  cluster: string;
  name: string;
  group: Group | undefined;
}

export function Resets({ cluster, name, group }: Props) {
  const t = useTexts();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const resets = useGet("/clusters/{cluster}/groups/{group}/resets/", { params: { cluster, group: name } });
  return (
    <Stack gap="md">
      <Row justify="space-between" gap="sm">
        <Text size="sm" c="dimmed" style={{ flex: "1 1 240px" }}>
          {t("reset.lead")}
        </Text>
        <IfMay role="operator" cluster={cluster} name={name}>
          <Row gap="xs">
            <Button
              leftSection={<IconRewindBackward10 size={15} />}
              onClick={() => setOpen({ kind: "reset", to: "earliest" })}
            >
              {t("reset.action")}
            </Button>
            <Button
              variant="default"
              leftSection={<IconPlayerSkipForward size={15} />}
              onClick={() => setOpen({ kind: "reset", to: "latest" })}
            >
              {t("reset.skip")}
            </Button>
            <Button
              variant="default"
              leftSection={<IconCopy size={15} />}
              onClick={() => setOpen({ kind: "clone" })}
            >
              {t("reset.clone")}
            </Button>
          </Row>
        </IfMay>
      </Row>
      <Panel title={t("reset.history")}>
        {resets.isError && <ProblemAlert error={resets.error} onRetry={() => void resets.refetch()} />}
        {resets.isPending && <Skeleton height={100} />}
        {resets.data?.count === 0 && <EmptyState title={t("reset.historyEmpty")} />}
        {resets.data && resets.data.count > 0 && (
          <History {...{ cluster, name }} resets={resets.data.results} onOpen={setOpen} />
        )}
      </Panel>
      {open?.kind === "reset" && (
        <ResetDialog
          {...{ cluster, name, group }}
          to={open.to}
          onClose={close}
          onUndo={(reset) => setOpen({ kind: "undo", reset })}
        />
      )}
      {open?.kind === "undo" && (
        <UndoDialog key={open.reset.id} {...{ cluster, name }} reset={open.reset} onClose={close} />
      )}
      {open?.kind === "queues" && <QueuesDialog {...{ cluster, name }} reset={open.reset} onClose={close} />}
      {open?.kind === "clone" && <CloneDialog {...{ cluster, name, group }} onClose={close} />}
    </Stack>
  );
}

const TONES: Record<ResetRow["state"], Tone> = {
  applying: "info",
  done: "ok",
  partial: "warn",
  failed: "bad",
};

interface HistoryProps {
  cluster: string;
  name: string;
  resets: readonly ResetRow[];
  onOpen: (open: Open) => void;
}

function History({ cluster, name, resets, onOpen }: HistoryProps) {
  const t = useTexts();
  const undone = new Set(
    resets.flatMap((reset) => (reset.undoes && reset.state === "done" ? [reset.undoes] : [])),
  );
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("reset.when")}</Table.Th>
            <Table.Th>{t("reset.what")}</Table.Th>
            <Table.Th>{t("reset.who")}</Table.Th>
            <Table.Th />
            <Table.Th w={150} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {resets.map((reset) => (
            <Table.Tr key={reset.id} data-reset={reset.id}>
              <Table.Td>
                <ExactTime at={reset.created_at} />
              </Table.Td>
              <Table.Td>
                <What reset={reset} />
              </Table.Td>
              <Table.Td>{reset.created_by}</Table.Td>
              <Table.Td>
                <Row gap={4}>
                  <StateBadge tone={TONES[reset.state]} label={t(`reset.state.${reset.state}`)} />
                  {undone.has(reset.id) && <StateBadge tone="quiet" label={t("reset.undone")} />}
                </Row>
              </Table.Td>
              <Table.Td>
                <Row gap="xs" wrap="nowrap" justify="flex-end">
                  <IfMay role="operator" cluster={cluster} name={name}>
                    {reset.state !== "failed" && (
                      <Button
                        variant="default"
                        size="compact-xs"
                        leftSection={<IconArrowBackUp size={13} />}
                        onClick={() => onOpen({ kind: "undo", reset })}
                      >
                        {t("reset.undo")}
                      </Button>
                    )}
                  </IfMay>
                  <Button
                    variant="subtle"
                    size="compact-xs"
                    onClick={() => onOpen({ kind: "queues", reset })}
                  >
                    {t("reset.show")}
                  </Button>
                </Row>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function What({ reset }: { reset: ResetRow }) {
  const t = useTexts();
  const locale = useLocale();
  const target = reset.target as Target;
  if (reset.undoes) return t("reset.undoOf");
  const where =
    target.to === "time" && target.at_ms
      ? formatTime(Number(target.at_ms), locale)
      : target.to === "shift"
        ? t("reset.shiftBy", { by: target.by ?? "" })
        : target.to === "copy"
          ? target.source_group
          : target.to === "exact"
            ? t("reset.exactCount", { count: target.queues?.length ?? 0 })
            : null;
  const topics = target.topics && target.topics.length > 0 ? target.topics.join(", ") : t("reset.allTopics");
  return [t(`reset.short.${target.to as Kind}`), where, target.to === "exact" ? null : topics]
    .filter(Boolean)
    .join(" · ");
}

function QueuesDialog({
  cluster,
  name,
  reset,
  onClose,
}: {
  cluster: string;
  name: string;
  reset: ResetRow;
  onClose: () => void;
}) {
  const t = useTexts();
  const read = useGet("/clusters/{cluster}/groups/{group}/resets/{reset}/", {
    params: { cluster, group: name, reset: reset.id },
  });
  return (
    <Modal opened onClose={onClose} title={t("reset.table")} size="xl">
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <Skeleton height={160} />}
      {read.data && <QueueTable queues={read.data.queues} isDone />}
    </Modal>
  );
}
