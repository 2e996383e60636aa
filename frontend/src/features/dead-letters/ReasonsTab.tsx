/** Dead letters by what they have in common: the first question of whoever is woken by them. */
import { Button, Group, Text } from "@mantine/core";
import { IconRotateClockwise } from "@tabler/icons-react";
import { useMemo } from "react";
import { useGet } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { TagCell } from "@/shared/message/cells";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count } from "@/shared/ui/Figure";
import { IfMay } from "@/shared/ui/IfMay";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { ShareBar } from "@/shared/ui/ShareBar";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { PlainText } from "@/shared/ui/TextBody";
import type { components } from "@/types/api.gen";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";

type Signature = components["schemas"]["Signature"];

const keyOf = (row: Signature) => JSON.stringify([row.topic, row.tag, row.reason, row.key_stem]);

export function ReasonsTab({ cluster, group, setSearch, onRedrive }: TabProps) {
  const t = useTexts();
  const locale = useLocale();
  const read = useGet(
    "/clusters/{cluster}/dlq/{group}/signatures/",
    { params: { cluster, group } },
    { staleTime: Infinity },
  );
  const triage = read.data;
  const columns = useColumns({
    cluster,
    group,
    setSearch,
    onRedrive,
    largest: Math.max(1, ...(triage?.signatures ?? []).map((row) => row.count)),
  });
  return (
    <>
      <Group gap="md" mb="xs" role="status">
        {triage && (
          <>
            <StateBadge
              tone={triage.is_complete ? "ok" : "info"}
              label={t(triage.is_complete ? "reasons.complete" : "reasons.partial")}
            />
            <Text size="sm">
              {t("reasons.scanned", {
                scanned: formatCount(triage.scanned, locale),
                about: formatCount(triage.about, locale),
              })}
            </Text>
            <Text size="sm" c="dimmed">
              {t("reasons.reasonsFor", { count: triage.reasons_for })}
            </Text>
          </>
        )}
        <Text size="sm" c="dimmed">
          {t("reasons.intro")}
        </Text>
        {triage?.problems.map((problem) => (
          <Text key={problem} size="sm" c="dimmed">
            {problem}
          </Text>
        ))}
      </Group>
      <DataTable
        label={t("reasons.label")}
        columns={columns}
        rows={triage?.signatures}
        rowKey={keyOf}
        error={read.error}
        onRetry={() => void read.refetch()}
        empty={<EmptyState title={t("lettersEmpty")} />}
      />
    </>
  );
}

function useColumns({
  cluster,
  group,
  setSearch,
  onRedrive,
  largest,
}: Omit<TabProps, "search"> & { largest: number }): Column<Signature>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "count",
        title: t("reasons.count"),
        width: 150,
        render: (row) => (
          <span style={{ display: "grid", gridTemplateColumns: "52px 1fr", gap: 8, alignItems: "center" }}>
            <span style={{ textAlign: "right" }}>
              <Count value={row.count} />
            </span>
            <ShareBar share={row.count / largest} tone="bad" />
          </span>
        ),
      },
      {
        key: "reason",
        title: t("reasons.reason"),
        width: 130,
        render: (row) =>
          row.reason === null ? <Tag>{t("reasons.untraced")}</Tag> : <Tag tone="bad">{row.reason}</Tag>,
      },
      {
        key: "topic",
        title: t("reasons.topic"),
        render: (row) => <span title={row.topic}>{row.topic}</span>,
      },
      {
        key: "tag",
        title: t("reasons.tag"),
        width: 130,
        from: 620,
        render: (row) => <TagCell tag={row.tag} />,
      },
      {
        key: "stem",
        title: t("reasons.stem"),
        width: 150,
        from: 720,
        render: (row) => row.key_stem && <PlainText text={`${row.key_stem}…`} />,
      },
      {
        key: "first",
        title: t("reasons.first"),
        width: 120,
        from: 980,
        render: (row) => <RelativeTime at={row.first_at} />,
      },
      {
        key: "last",
        title: t("reasons.last"),
        width: 120,
        from: 820,
        render: (row) => <RelativeTime at={row.last_at} />,
      },
      {
        key: "act",
        title: "",
        width: 200,
        from: 520,
        align: "right",
        render: (row) => (
          <Actions row={row} cluster={cluster} group={group} setSearch={setSearch} onRedrive={onRedrive} />
        ),
      },
    ],
    [t, cluster, group, setSearch, onRedrive, largest],
  );
}

function Actions({
  row,
  cluster,
  group,
  setSearch,
  onRedrive,
}: { row: Signature } & Omit<TabProps, "search">) {
  const t = useTexts();
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={() => setSearch({ tab: "messages", tag: row.tag ?? "" }, { replace: false })}
      >
        {t("reasons.show")}
      </Button>
      <IfMay role="operator" cluster={cluster} name={group}>
        <Button
          variant="light"
          size="compact-xs"
          title={t("reasons.redriveSamplesHint")}
          leftSection={<IconRotateClockwise size={12} />}
          onClick={() => onRedrive(row.samples)}
        >
          {t("reasons.redriveSamples", { count: row.samples.length })}
        </Button>
      </IfMay>
    </Group>
  );
}
