/** Settings of all brokers, a column each: drift and differences stand out. Asked of every broker when it is opened. */
import { ActionIcon, Alert, Button, SegmentedControl, Skeleton, Table, Text, Tooltip } from "@mantine/core";
import { IconPencil, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import classes from "./Brokers.module.css";
import { ConfigureDialog } from "./ConfigureDialog";
import { SHOWN } from "./search";
import { commonOf, linesFor, type SettingLine, type SettingsAnswer, type Shown } from "./settings_lines";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  /** Only this broker's column, beside what it should be. */
  broker?: string;
  search: string;
  show: Shown;
  onChange: (changes: { search?: string; show?: Shown }) => void;
}

export function SettingsMatrix({ cluster, broker, search, show, onChange }: Props) {
  const t = useTexts();
  const shared = useShared();
  const read = useGet("/clusters/{cluster}/broker_settings/", { params: { cluster } }, { staleTime: 30_000 });
  const [edited, setEdited] = useState<SettingLine | null>(null);
  const answer = read.data && broker ? only(read.data, broker) : read.data;
  const lines = answer ? linesFor(answer.settings, show, search) : [];
  return (
    <>
      <Toolbar>
        <SearchBox
          value={search}
          onChange={(text) => onChange({ search: text })}
          placeholder={t("settings.search")}
        />
        <SegmentedControl
          aria-label={t("settings.show")}
          value={show}
          onChange={(value) => onChange({ show: value as Shown })}
          data={SHOWN.filter((one) => one !== "different" || !broker).map((one) => ({
            value: one,
            label: t(`settings.${one}`),
          }))}
        />
        <Button
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={read.isFetching}
          onClick={() => void read.refetch()}
        >
          {shared("action.refresh")}
        </Button>
        {answer && (
          <Text size="xs" c="dimmed">
            {t("settings.counted", { shown: lines.length, all: answer.settings.length })}
          </Text>
        )}
      </Toolbar>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {answer && <Silent answer={answer} />}
      {read.isPending && <Skeleton height={320} role="status" aria-label={shared("loading")} />}
      {answer && lines.length === 0 && <Nothing show={show} search={search} />}
      {answer && lines.length > 0 && (
        <Matrix cluster={cluster} answer={answer} lines={lines} broker={broker} onEdit={setEdited} />
      )}
      {edited && answer && (
        <ConfigureDialog
          cluster={cluster}
          line={edited}
          brokers={answer.brokers}
          only={broker}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

function only(answer: SettingsAnswer, broker: string): SettingsAnswer {
  return {
    brokers: answer.brokers.filter((one) => one.broker === broker),
    settings: answer.settings
      .map((line) => ({ ...line, cells: line.cells.filter((cell) => cell.broker === broker) }))
      .map((line) => ({ ...line, is_drifted: line.cells.some((cell) => cell.is_drifted) })),
  };
}

function Silent({ answer }: { answer: SettingsAnswer }) {
  const t = useTexts();
  const silent = answer.brokers.filter((one) => !one.is_reachable);
  if (silent.length === 0) return null;
  return (
    <Alert className="sb-warn" styles={TONED} mb="sm">
      {silent.map((one) => (
        <div key={one.broker}>{t("settings.silent", { name: one.broker, error: one.error })}</div>
      ))}
    </Alert>
  );
}

function Nothing({ show, search }: { show: Shown; search: string }) {
  const t = useTexts();
  if (search === "" && show === "drifted") return <EmptyState title={t("settings.noneDrifted")} />;
  if (search === "" && show === "different") return <EmptyState title={t("settings.noneDifferent")} />;
  return <EmptyState title={t("settings.none")} />;
}

interface MatrixProps {
  cluster: string;
  answer: SettingsAnswer;
  lines: readonly SettingLine[];
  broker?: string;
  onEdit: (line: SettingLine) => void;
}

function Matrix({ cluster, answer, lines, broker, onEdit }: MatrixProps) {
  const t = useTexts();
  const { may } = useRights();
  const mayEdit = may("operator", cluster);
  const names = broker ? [t("settings.running")] : answer.brokers.map((one) => one.broker);
  const label = broker ? t("settings.tableOne", { name: broker }) : t("settings.table");
  return (
    <div className={classes.matrix} tabIndex={0} role="region" aria-label={label}>
      <Table verticalSpacing={5} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className={classes.keyHead}>{t("settings.key")}</Table.Th>
            <Table.Th>{t("settings.wanted")}</Table.Th>
            {names.map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map((line) => (
            <Table.Tr key={line.key} data-key={line.key}>
              <Table.Th scope="row" className={classes.key}>
                <Key line={line} onEdit={mayEdit && line.rule !== null ? () => onEdit(line) : undefined} />
              </Table.Th>
              <Table.Td className={classes.value}>
                <Wanted line={line} />
              </Table.Td>
              <Cells line={line} />
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Key({ line, onEdit }: { line: SettingLine; onEdit?: () => void }) {
  const t = useTexts();
  return (
    <span className={classes.keyCell}>
      <span className="sb-mono">{line.key}</span>
      {line.is_drifted && <Tag tone="bad">{t("drifted")}</Tag>}
      {line.is_different && <Tag tone="warn">{t("settings.different")}</Tag>}
      {onEdit && (
        <Tooltip
          label={`${t("settings.edit", { key: line.key })} · ${t(line.is_live ? "settings.liveWhy" : "settings.restartWhy")}`}
        >
          <ActionIcon
            size="xs"
            onClick={onEdit}
            aria-label={t("settings.edit", { key: line.key })}
            className={classes.pencil}
          >
            <IconPencil size={13} />
          </ActionIcon>
        </Tooltip>
      )}
    </span>
  );
}

/** What all of them should have; each its own where that differs. */
function Wanted({ line }: { line: SettingLine }) {
  const wanted = new Set(line.cells.map((cell) => cell.wanted));
  const [value] = wanted;
  if (wanted.size > 1) return null;
  return value === null || value === undefined ? <span className={classes.unsaid} /> : <Value text={value} />;
}

function Cells({ line }: { line: SettingLine }) {
  const t = useTexts();
  const common = commonOf(line);
  return line.cells.map((cell) => {
    const isOdd = line.is_different && cell.running !== common;
    const tone = cell.is_drifted ? classes.drifted : isOdd ? classes.odd : "";
    return (
      <Table.Td key={cell.broker} className={`${classes.value} ${tone}`}>
        {cell.running === null ? <Unknown why={t("settings.notSaid")} /> : <Value text={cell.running} />}
        {cell.is_drifted && (
          <span className={classes.should}>
            {t("settings.wanted")}: <Value text={cell.wanted ?? ""} />
          </span>
        )}
      </Table.Td>
    );
  });
}

function Value({ text }: { text: string }) {
  const t = useTexts();
  if (text === "") return <span className={classes.unsaid}>{t("settings.empty")}</span>;
  return (
    <span className="sb-mono" title={text}>
      {text}
    </span>
  );
}
