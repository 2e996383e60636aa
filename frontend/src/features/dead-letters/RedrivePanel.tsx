/** One redrive: how it goes, what became of every letter, and stopping it. */
import { ActionIcon, Box, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { addressOf, post } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { formatTime } from "@/shared/format/times";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { StoredAt } from "@/shared/message/cells";
import { useLocale } from "@/shared/texts/i18n";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StatTile, StatTiles } from "@/shared/ui/StatTile";
import type { components } from "@/types/api.gen";
import { isOpen, OutcomeBadge, type Redrive, RedriveState } from "./RedriveState";
import { RedriveProgress } from "./RedrivesTab";
import { OUTCOMES } from "./search";
import { useTexts } from "./texts";

type Outcome = components["schemas"]["Outcome"];
type Wanted = (typeof OUTCOMES)[number] | null;

interface Props {
  cluster: string;
  group: string;
  redrive: Redrive;
  outcome: Wanted;
  onOutcome: (outcome: Wanted) => void;
  onClose: () => void;
}

export function RedrivePanel({ cluster, group, redrive, outcome, onOutcome, onClose }: Props) {
  const t = useTexts();
  const locale = useLocale();
  const params = { cluster, id: redrive.id };
  return (
    <Box mb="md">
      <Panel
        title={t("redrives.outcomesLabel")}
        aside={
          <Group gap="xs">
            <IfMay role="operator" cluster={cluster} name={group}>
              <Verbs cluster={cluster} redrive={redrive} />
            </IfMay>
            <Button
              variant="default"
              component="a"
              download
              href={addressOf("/clusters/{cluster}/redrives/{id}/export/", params, { format: "csv" })}
              leftSection={<IconDownload size={14} />}
            >
              {t("redrives.export")}
            </Button>
            <ActionIcon aria-label={t("redrives.close")} onClick={onClose}>
              <IconX size={16} />
            </ActionIcon>
          </Group>
        }
      >
        <Stack gap="sm">
          <Group gap="md" role="status">
            <RedriveState state={redrive.state} />
            <Box w={180}>
              <RedriveProgress redrive={redrive} />
            </Box>
            {redrive.reason && <Text size="sm">{redrive.reason}</Text>}
            {redrive.state === "watching" && redrive.canary_until && (
              <Text size="sm">
                {t("redrives.canaryUntil", { time: formatTime(redrive.canary_until, locale) })}
              </Text>
            )}
          </Group>
          <Tiles redrive={redrive} />
          <Outcomes cluster={cluster} redrive={redrive} outcome={outcome} onOutcome={onOutcome} />
        </Stack>
      </Panel>
    </Box>
  );
}

const TONES = { sent: "ok", came_back: "bad", refused: "bad", unsure: "warn", skipped: "quiet" } as const;

function Tiles({ redrive }: { redrive: Redrive }) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <StatTiles>
      {OUTCOMES.map((name) => (
        <StatTile
          key={name}
          label={t(`outcome.${name}`)}
          tone={redrive.outcomes[name] > 0 ? TONES[name] : undefined}
          note={t(`outcomeHint.${name}`)}
        >
          {formatCount(redrive.outcomes[name], locale)}
        </StatTile>
      ))}
    </StatTiles>
  );
}

function Verbs({ cluster, redrive }: { cluster: string; redrive: Redrive }) {
  const t = useTexts();
  const client = useQueryClient();
  const [isCancelling, cancelling] = useDisclosure(false);
  const params = { cluster, id: redrive.id };
  const again = () =>
    refresh(
      client,
      "/clusters/{cluster}/redrives/",
      "/clusters/{cluster}/redrives/{id}/outcomes/",
      "/clusters/{cluster}/dlq/",
    );
  const pause = useMutation({
    mutationFn: () => post("/clusters/{cluster}/redrives/{id}/pause/", { params }),
    onSettled: again,
  });
  const resume = useMutation({
    mutationFn: () => post("/clusters/{cluster}/redrives/{id}/resume/", { params }),
    onSettled: again,
  });
  const error = pause.error ?? resume.error;
  const isHeld = redrive.state === "paused" || redrive.state === "stopped";
  return (
    <>
      {error && <ProblemAlert error={error} isWrite />}
      {isOpen(redrive.state) && !isHeld && (
        <Button
          variant="default"
          leftSection={<IconPlayerPause size={14} />}
          loading={pause.isPending}
          onClick={() => pause.mutate()}
        >
          {t("redrives.pause")}
        </Button>
      )}
      {isHeld && (
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={14} />}
          loading={resume.isPending}
          onClick={() => resume.mutate()}
        >
          {t(redrive.state === "stopped" ? "redrives.resumeStopped" : "redrives.resume")}
        </Button>
      )}
      {isOpen(redrive.state) && (
        <Button variant="default" onClick={cancelling.open}>
          {t("redrives.cancel")}
        </Button>
      )}
      <Confirm
        opened={isCancelling}
        onClose={cancelling.close}
        title={t("redrives.cancelTitle")}
        actionLabel={t("redrives.cancel")}
        onConfirm={async () => {
          await post("/clusters/{cluster}/redrives/{id}/cancel/", { params });
          await again();
        }}
      >
        <Text size="sm">{t("redrives.cancelDetail")}</Text>
      </Confirm>
    </>
  );
}

function Outcomes({
  cluster,
  redrive,
  outcome,
  onOutcome,
}: Pick<Props, "cluster" | "redrive" | "outcome" | "onOutcome">) {
  const t = useTexts();
  const page = useGet(
    "/clusters/{cluster}/redrives/{id}/outcomes/",
    { params: { cluster, id: redrive.id }, query: { limit: 500, ...(outcome && { state: outcome }) } },
    { keepPrevious: true },
  );
  const { refetch } = page;
  const moved = JSON.stringify([redrive.position, redrive.outcomes, redrive.state]);
  useEffect(() => {
    void refetch();
  }, [moved, refetch]);
  const columns = useOutcomeColumns();
  return (
    <>
      <Select
        aria-label={t("redrives.filter")}
        value={outcome ?? ""}
        onChange={(value) => onOutcome(value ? (value as Wanted) : null)}
        data={[
          { value: "", label: t("redrives.all") },
          ...OUTCOMES.map((one) => ({ value: one as string, label: t(`outcome.${one}`) })),
        ]}
        w={170}
      />
      <Box mah={380} style={{ display: "flex", flexDirection: "column" }}>
        <DataTable
          label={t("redrives.outcomesLabel")}
          columns={columns}
          rows={page.data?.results}
          rowKey={(row) => row.offset_id}
          error={page.error}
          onRetry={() => void page.refetch()}
          count={page.data?.count}
          empty={<EmptyState title={t(outcome ? "redrives.noSuch" : "redrives.noOutcomes")} />}
        />
      </Box>
    </>
  );
}

function useOutcomeColumns(): Column<Outcome>[] {
  const t = useTexts();
  const locale = useLocale();
  return useMemo(
    () => [
      {
        key: "position",
        title: t("outcomeColumn.position"),
        width: 64,
        align: "right",
        render: (row) => formatCount(row.position, locale),
      },
      {
        key: "state",
        title: t("outcomeColumn.state"),
        width: 120,
        render: (row) => <OutcomeBadge state={row.state} />,
      },
      {
        key: "id",
        title: t("outcomeColumn.id"),
        from: 480,
        render: (row) => <span className="sb-mono">{row.msg_id}</span>,
      },
      {
        key: "where",
        title: t("outcomeColumn.where"),
        width: 260,
        from: 760,
        render: (row) => (row.topic ? `${row.topic} · ${row.queue ?? ""} @ ${row.queue_offset ?? ""}` : ""),
      },
      {
        key: "detail",
        title: t("outcomeColumn.detail"),
        width: 200,
        from: 620,
        render: (row) => <span title={row.detail}>{row.detail || row.status}</span>,
      },
      {
        key: "at",
        title: t("outcomeColumn.at"),
        width: 216,
        from: 940,
        render: (row) => <StoredAt at={row.at} />,
      },
    ],
    [t, locale],
  );
}
