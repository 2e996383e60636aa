/** One row: what changed, field by field, the other half of the pair, and its place in the chain. */
import { Anchor, Drawer, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useGet } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { CopyButton } from "@/shared/ui/CopyButton";
import { JsonView } from "@/shared/ui/JsonView";
import { KeyValue } from "@/shared/ui/KeyValue";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { PlainText } from "@/shared/ui/TextBody";
import type { components } from "@/types/api.gen";
import { type Entry, OutcomeBadge } from "./EntryOutcome";
import { useTexts } from "./texts";
import classes from "./Entry.module.css";

type Detail = components["schemas"]["EntryDetail"];

interface Props {
  /** Empty: nothing is open. */
  id: string;
  onOpen: (id: string) => void;
  onClose: () => void;
}

export function EntryDrawer({ id, onOpen, onClose }: Props) {
  const t = useTexts();
  const shared = useShared();
  return (
    <Drawer
      opened={id !== ""}
      onClose={onClose}
      title={t("entry.title", { id })}
      position="right"
      size="min(720px, 100%)"
      closeButtonProps={{ "aria-label": shared("action.close") }}
    >
      {/^\d{1,18}$/.test(id) && <Shown id={id} onOpen={onOpen} />}
    </Drawer>
  );
}

function Shown({ id, onOpen }: Omit<Props, "onClose">) {
  const t = useTexts();
  const read = useGet("/audit/{entry}/", { params: { entry: Number(id) } });
  const entry = read.data;
  if (read.isError) return <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />;
  if (!entry) return <Skeleton height={260} />;
  return (
    <Stack gap="md">
      <KeyValue
        items={[
          [t("column.at"), <ExactTime key="at" at={entry.at} />],
          [t("column.actor"), entry.actor],
          [
            t("column.action"),
            <span key="action" className="sb-mono">
              {entry.action}
            </span>,
          ],
          entry.cluster ? [t("column.cluster"), entry.cluster] : null,
          entry.target ? [t("column.target"), <PlainText key="target" text={entry.target} />] : null,
          [t("column.outcome"), <OutcomeBadge key="outcome" entry={entry} />],
          entry.address ? [t("column.address"), entry.address] : null,
        ]}
      />
      <Changes entry={entry} />
      <Others entry={entry} onOpen={onOpen} />
      <div>
        <Text size="xs" c="dimmed" fw={600} mb={4}>
          {t("entry.details")}
        </Text>
        <JsonView value={entry.details} label={t("entry.details")} />
      </div>
      <KeyValue
        items={[
          [t("entry.hash"), <Hash key="hash" value={entry.hash} name={t("entry.hash")} />],
          [
            t("entry.previous"),
            <Hash key="previous" value={entry.previous_hash} name={t("entry.previous")} />,
          ],
        ]}
      />
    </Stack>
  );
}

function Changes({ entry }: { entry: Detail }) {
  const t = useTexts();
  if (entry.changes.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t("entry.noChanges")}
      </Text>
    );
  }
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table verticalSpacing={4} aria-label={t("entry.changes")}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("entry.path")}</Table.Th>
            <Table.Th>{t("entry.before")}</Table.Th>
            <Table.Th>{t("entry.after")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entry.changes.map((change) => (
            <Table.Tr key={change.path}>
              <Table.Td className="sb-mono">{change.path}</Table.Td>
              <Table.Td>
                <Value value={change.before} kind="before" />
              </Table.Td>
              <Table.Td>
                <Value value={change.after} kind="after" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Value({ value, kind }: { value: unknown; kind: "before" | "after" }) {
  const t = useTexts();
  if (value === null || value === undefined)
    return <span style={{ color: "var(--mantine-color-dimmed)" }}>{t("entry.absent")}</span>;
  if (value === "")
    return <span style={{ color: "var(--mantine-color-dimmed)" }}>{t("entry.emptyText")}</span>;
  return (
    <span className={`${classes.value} ${kind === "before" ? "sb-bad" : "sb-ok"}`}>
      <PlainText text={typeof value === "string" ? value : JSON.stringify(value)} />
    </span>
  );
}

function Others({ entry, onOpen }: { entry: Detail; onOpen: (id: string) => void }) {
  const t = useTexts();
  const row = (other: Entry, label: string) => (
    <Group key={other.id} gap="sm">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <OutcomeBadge entry={other} />
      <ExactTime at={other.at} />
      <Anchor component="button" size="sm" onClick={() => onOpen(other.id)}>
        {t("entry.open", { id: other.id })}
      </Anchor>
    </Group>
  );
  return (
    <>
      {entry.intent && row(entry.intent, t("entry.intent"))}
      {entry.outcomes.map((other) => row(other, t("entry.outcomes")))}
      {entry.phase === "intent" && entry.outcomes.length === 0 && (
        <Text size="sm">{t("outcome.unknown")}</Text>
      )}
    </>
  );
}

function Hash({ value, name }: { value: string; name: string }) {
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 4 }}>
      <span className="sb-mono">{value}</span>
      {value && <CopyButton value={value} name={name} />}
    </span>
  );
}
