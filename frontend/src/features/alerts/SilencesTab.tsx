/** Silences: during which nobody is told. */
import { Button, Text } from "@mantine/core";
import { IconBellOff, IconPlus } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { del } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { ExactTime, RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge } from "@/shared/ui/StateBadge";
import { useNow } from "@/shared/ui/use_now";
import type { components } from "@/types/api.gen";
import { SilenceForm } from "./SilenceForm";
import { stateAt } from "./silences";
import { useTexts } from "./texts";

type Silence = components["schemas"]["AlertSilence"];

export function SilencesTab({ cluster }: { cluster: string }) {
  const t = useTexts();
  const client = useQueryClient();
  const [isNew, setNew] = useState(false);
  const [ending, end] = useState<Silence | null>(null);
  const read = useGet("/alerts/silences/", { query: { cluster, limit: 500 } });
  const columns = useColumns(end);
  return (
    <>
      <Toolbar>
        <IfMay role="operator" cluster={cluster} somewhere>
          <Button leftSection={<IconPlus size={14} />} onClick={() => setNew(true)}>
            {t("silences.new")}
          </Button>
        </IfMay>
      </Toolbar>
      <DataTable
        label={t("silences.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(row) => row.id}
        rowName={(row) => row.reason}
        error={read.error}
        onRetry={() => void read.refetch()}
        empty={
          <EmptyState icon={<IconBellOff size={28} />} title={t("silences.empty")}>
            {t("silences.emptyDetail")}
          </EmptyState>
        }
      />
      <SilenceForm opened={isNew} onClose={() => setNew(false)} cluster={cluster} name="*" rule={null} />
      <Confirm
        opened={ending !== null}
        onClose={() => end(null)}
        title={t("silences.endTitle")}
        actionLabel={t("silences.end")}
        isDanger={false}
        onConfirm={async () => {
          await del("/alerts/silences/{id}/", { params: { id: Number(ending?.id) } });
          await refresh(client, "/alerts/silences/", "/alerts/");
        }}
      >
        <Text size="sm">{t("silences.endDetail")}</Text>
      </Confirm>
    </>
  );
}

const TONES = { active: "info", planned: "quiet", over: "quiet" } as const;

function SilenceState({ silence }: { silence: Silence }) {
  const t = useTexts();
  const state = stateAt(silence, useNow());
  return <StateBadge tone={TONES[state]} label={t(`silences.${state}`)} />;
}

function EndButton({ silence, end }: { silence: Silence; end: (silence: Silence) => void }) {
  const t = useTexts();
  const rights = useRights();
  const isOver = stateAt(silence, useNow()) === "over";
  if (isOver || !rights.may("operator", silence.cluster_pattern, silence.name_pattern)) return null;
  return (
    <Button variant="subtle" size="compact-xs" onClick={() => end(silence)}>
      {t("silences.end")}
    </Button>
  );
}

function useColumns(end: (silence: Silence) => void): Column<Silence>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "state", title: t("column.state"), width: 110, render: (row) => <SilenceState silence={row} /> },
      {
        key: "what",
        title: t("column.matches"),
        width: 220,
        from: 560,
        render: (row) => `${row.name_pattern} · ${row.rule ?? t("silences.anyRule")}`,
      },
      {
        key: "reason",
        title: t("column.reason"),
        render: (row) => <span title={row.reason}>{row.reason}</span>,
      },
      {
        key: "from",
        title: t("column.from"),
        width: 170,
        from: 860,
        render: (row) => <ExactTime at={row.starts_at} />,
      },
      {
        key: "until",
        title: t("column.until"),
        width: 130,
        from: 420,
        render: (row) => <RelativeTime at={row.ends_at} />,
      },
      { key: "by", title: t("column.by"), width: 110, from: 720, render: (row) => row.created_by },
      {
        key: "act",
        title: "",
        width: 110,
        align: "right",
        render: (row) => <EndButton silence={row} end={end} />,
      },
    ],
    [t, end],
  );
}
