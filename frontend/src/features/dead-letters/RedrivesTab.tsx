/** Redrives of a group, and one of them with the outcome of every letter. They move by themselves. */
import { Progress } from "@mantine/core";
import { IconRotateClockwise } from "@tabler/icons-react";
import { useMemo } from "react";
import { formatCount, toBigInt } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag, type Tone } from "@/shared/ui/StateBadge";
import { RedrivePanel } from "./RedrivePanel";
import { type Redrive, RedriveState } from "./RedriveState";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";
import { useRedrives } from "./use_redrives";

export function RedrivesTab({ cluster, group, search, setSearch }: TabProps) {
  const t = useTexts();
  const { read, redrives } = useRedrives(cluster, group);
  const columns = useColumns();
  const chosen = redrives?.find((redrive) => redrive.id === search.redrive);
  return (
    <>
      {search.redrive !== "" && chosen && (
        <RedrivePanel
          key={chosen.id}
          cluster={cluster}
          group={group}
          redrive={chosen}
          outcome={search.outcome}
          onOutcome={(outcome) => setSearch({ outcome })}
          onClose={() => setSearch({ redrive: "", outcome: null }, { replace: false })}
        />
      )}
      <DataTable
        label={t("redrives.label", { group })}
        columns={columns}
        rows={redrives}
        rowKey={(redrive) => redrive.id}
        error={read.error}
        onRetry={() => void read.refetch()}
        onOpen={(redrive) => setSearch({ redrive: redrive.id, outcome: null }, { replace: false })}
        fill={chosen === undefined}
        empty={
          <EmptyState icon={<IconRotateClockwise size={28} />} title={t("redrives.empty")}>
            {t("redrives.emptyDetail")}
          </EmptyState>
        }
      />
    </>
  );
}

export function RedriveProgress({ redrive }: { redrive: Redrive }) {
  const t = useTexts();
  const locale = useLocale();
  const all = toBigInt(redrive.total);
  const share = all === 0n ? 1 : Number((toBigInt(redrive.position) * 1000n) / all) / 1000;
  const words = {
    position: formatCount(redrive.position, locale),
    total: formatCount(redrive.total, locale),
  };
  return (
    <span style={{ display: "grid", gap: 3 }}>
      <Progress value={share * 100} size={4} aria-label={t("redrives.of", words)} />
      <span className="sb-figure" style={{ fontSize: 11 }}>
        {t("redrives.of", words)}
      </span>
    </span>
  );
}

const SHOWN = [
  ["sent", "ok"],
  ["came_back", "bad"],
  ["refused", "bad"],
  ["unsure", "warn"],
  ["skipped", "quiet"],
] as const satisfies readonly (readonly [keyof Redrive["outcomes"], Tone])[];

function Tallies({ redrive }: { redrive: Redrive }) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <span style={{ display: "inline-flex", gap: 6 }}>
      {SHOWN.filter(([name]) => redrive.outcomes[name] > 0).map(([name, tone]) => (
        <Tag key={name} tone={tone}>
          {`${t(`outcome.${name}`)} ${formatCount(redrive.outcomes[name], locale)}`}
        </Tag>
      ))}
    </span>
  );
}

function useColumns(): Column<Redrive>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "state",
        title: t("redrives.state"),
        width: 180,
        render: (row) => <RedriveState state={row.state} why={row.reason || undefined} />,
      },
      {
        key: "progress",
        title: t("redrives.progress"),
        width: 170,
        render: (row) => <RedriveProgress redrive={row} />,
      },
      { key: "outcomes", title: t("redrives.outcomes"), render: (row) => <Tallies redrive={row} /> },
      {
        key: "target",
        title: t("redrives.target"),
        width: 170,
        from: 860,
        render: (row) => row.topic || t(`redrive.targets.${row.target}`),
      },
      { key: "by", title: t("redrives.by"), width: 110, from: 720, render: (row) => row.created_by },
      {
        key: "made",
        title: t("redrives.made"),
        width: 130,
        from: 560,
        render: (row) => <RelativeTime at={row.created_at} />,
      },
    ],
    [t],
  );
}
