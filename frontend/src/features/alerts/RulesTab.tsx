/** Rules of a cluster: what must not be. Made, changed, tried and deleted by those who may do everything they name. */
import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import { IconBell, IconDots, IconFlame, IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { del } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { formatBytes } from "@/shared/format/bytes";
import { formatDuration } from "@/shared/format/durations";
import { numberFormat } from "@/shared/format/formatters";
import { formatRatio } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Tag } from "@/shared/ui/StateBadge";
import { Severity } from "./badges";
import { type Rule, UNITS } from "./rule_form";
import { RuleForm } from "./RuleForm";
import { TestFire } from "./TestFire";
import { useTexts } from "./texts";

type Doing = { verb: "edit" | "test" | "delete"; rule: Rule } | { verb: "new"; rule: null } | null;

export function RulesTab({ cluster }: { cluster: string }) {
  const t = useTexts();
  const client = useQueryClient();
  const [doing, doNow] = useState<Doing>(null);
  const read = useGet("/alerts/rules/", { query: { cluster, limit: 500 } });
  const columns = useColumns(doNow);
  const stop = () => doNow(null);
  const rule = doing?.rule ?? null;
  return (
    <>
      <Toolbar>
        <IfMay role="operator" cluster={cluster} somewhere>
          <Button leftSection={<IconPlus size={14} />} onClick={() => doNow({ verb: "new", rule: null })}>
            {t("rules.new")}
          </Button>
        </IfMay>
      </Toolbar>
      <DataTable
        label={t("rules.label")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(row) => row.id}
        rowName={(row) => row.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        empty={
          <EmptyState icon={<IconBell size={28} />} title={t("rules.empty")}>
            {t("rules.emptyDetail")}
          </EmptyState>
        }
      />
      <RuleForm
        opened={doing?.verb === "new" || doing?.verb === "edit"}
        onClose={stop}
        cluster={cluster}
        rule={rule}
      />
      {rule && <TestFire opened={doing?.verb === "test"} onClose={stop} rule={rule} />}
      {rule && (
        <Confirm
          opened={doing?.verb === "delete"}
          onClose={stop}
          title={t("rules.deleteTitle", { name: rule.name })}
          name={rule.name}
          actionLabel={t("rules.delete")}
          onConfirm={async () => {
            await del("/alerts/rules/{id}/", { params: { id: Number(rule.id) } });
            await refresh(client, "/alerts/rules/", "/alerts/");
          }}
        >
          <Text size="sm">{t("rules.deleteDetail")}</Text>
        </Confirm>
      )}
    </>
  );
}

function useColumns(doNow: (doing: Doing) => void): Column<Rule>[] {
  const t = useTexts();
  return useMemo(
    () => [
      {
        key: "name",
        title: t("column.name"),
        render: (rule) => (
          <span title={rule.name}>
            {rule.name} {rule.is_enabled === false && <Tag>{t("rules.off")}</Tag>}
          </span>
        ),
      },
      {
        key: "kind",
        title: t("column.kind"),
        width: 330,
        from: 640,
        render: (rule) => <Condition rule={rule} />,
      },
      {
        key: "where",
        title: t("column.where"),
        width: 200,
        from: 900,
        render: (rule) => <Where rule={rule} />,
      },
      {
        key: "severity",
        title: t("column.severity"),
        width: 90,
        from: 420,
        render: (rule) => <Severity severity={rule.severity ?? "warning"} />,
      },
      {
        key: "channels",
        title: t("column.channels"),
        width: 150,
        from: 1040,
        render: (rule) => <Channels names={rule.channels ?? []} />,
      },
      {
        key: "act",
        title: "",
        width: 52,
        align: "right",
        render: (rule) => <RuleMenu rule={rule} doNow={doNow} />,
      },
    ],
    [t, doNow],
  );
}

function Condition({ rule }: { rule: Rule }) {
  const t = useTexts();
  const locale = useLocale();
  const value = useThreshold(rule);
  return (
    <span>
      {t(`kind.${rule.kind}`)} {value && <b>{value}</b>}{" "}
      <span style={{ color: "var(--mantine-color-dimmed)" }}>
        {rule.for_s > 0 && formatDuration(rule.for_s, locale)}
      </span>
    </span>
  );
}

function useThreshold(rule: Rule): string {
  const locale = useLocale();
  const t = useTexts();
  switch (UNITS[rule.kind]) {
    case null:
      return "";
    case "seconds":
      return formatDuration(rule.threshold, locale);
    case "ratio":
      return formatRatio(rule.threshold, locale);
    case "bytes":
      return formatBytes(Math.round(rule.threshold), locale);
    case "hoursAhead":
      return formatDuration(rule.threshold * 3600, locale);
    case "hoursSince":
      return rule.threshold > 0 ? formatDuration(rule.threshold * 3600, locale) : t("unit.sinceStart");
    case "days":
      return formatDuration(rule.threshold * 86_400, locale);
    case "records":
    case "members":
      return String(rule.threshold);
    default:
      return `${numberFormat(locale).format(rule.threshold)} ${t("unit.messages")}`;
  }
}

function Where({ rule }: { rule: Rule }) {
  const t = useTexts();
  return (
    <span title={`${rule.cluster_pattern} / ${rule.name_pattern}`}>
      {rule.name_pattern === "*" ? t("rules.allNames") : rule.name_pattern}{" "}
      <span style={{ color: "var(--mantine-color-dimmed)" }}>
        {t("rules.onClusters", { clusters: rule.cluster_pattern })}
      </span>
    </span>
  );
}

function Channels({ names }: { names: readonly string[] }) {
  const t = useTexts();
  if (names.length === 0)
    return <span style={{ color: "var(--mantine-color-dimmed)" }}>{t("rules.none")}</span>;
  return <span title={names.join(", ")}>{names.join(", ")}</span>;
}

function RuleMenu({ rule, doNow }: { rule: Rule; doNow: (doing: Doing) => void }) {
  const t = useTexts();
  const shared = useShared();
  const rights = useRights();
  if (!rights.may("operator", rule.cluster_pattern, rule.name_pattern)) return null;
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon aria-label={`${shared("action.more")}: ${rule.name}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => doNow({ verb: "edit", rule })}>
            {t("rules.edit")}
          </Menu.Item>
          <Menu.Item leftSection={<IconFlame size={14} />} onClick={() => doNow({ verb: "test", rule })}>
            {t("rules.test")}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash size={14} />} onClick={() => doNow({ verb: "delete", rule })}>
            {t("rules.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
