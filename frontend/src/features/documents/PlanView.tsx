/** What a document would create, change and delete, thing by thing, with what differs on which broker. */
import { Group, Stack, Table, Text } from "@mantine/core";
import { StateBadge, Tag, type Tone } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import classes from "./Plan.module.css";
import { useTexts } from "./texts";

export type Plan = Pick<
  components["schemas"]["DocumentPlan"],
  "create" | "change" | "delete" | "differs" | "unchanged"
>;
type Change = components["schemas"]["DocumentChange"];

const VERBS = ["create", "change", "delete", "differs"] as const;
const TONES: Record<(typeof VERBS)[number], Tone> = {
  create: "ok",
  change: "info",
  delete: "bad",
  differs: "warn",
};

export function countOf(plan: Plan): number {
  return plan.create.length + plan.change.length + plan.delete.length;
}

export function PlanView({ plan }: { plan: Plan }) {
  const t = useTexts();
  const isNothing = VERBS.every((verb) => plan[verb].length === 0);
  return (
    <Stack gap="sm">
      <Group gap="sm" role="status">
        {VERBS.map(
          (verb) =>
            plan[verb].length > 0 && (
              <StateBadge key={verb} tone={TONES[verb]} label={`${plan[verb].length} ${t(`plan.${verb}`)}`} />
            ),
        )}
        {isNothing && <Text size="sm">{t("plan.nothing")}</Text>}
        {plan.unchanged > 0 && (
          <Text size="sm" c="dimmed">
            {t("plan.unchanged", { count: plan.unchanged })}
          </Text>
        )}
      </Group>
      {!isNothing && (
        <Table.ScrollContainer minWidth={520}>
          <Table verticalSpacing={6} aria-label={t("plan.label")} className={classes.table}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={90} />
                <Table.Th>{t("plan.what")}</Table.Th>
                <Table.Th>{t("plan.diffs")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {VERBS.flatMap((verb) =>
                plan[verb].map((change) => (
                  <Line
                    key={`${verb} ${change.cluster} ${change.kind} ${change.name}`}
                    verb={verb}
                    change={change}
                  />
                )),
              )}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}

function Line({ verb, change }: { verb: (typeof VERBS)[number]; change: Change }) {
  const t = useTexts();
  return (
    <Table.Tr>
      <Table.Td>
        <Tag tone={TONES[verb]}>{t(`plan.${verb}`)}</Tag>
      </Table.Td>
      <Table.Td>
        <span style={{ color: "var(--mantine-color-dimmed)" }}>{t(`kind.${change.kind}`)}</span>{" "}
        <b>{change.name}</b>{" "}
        <span style={{ color: "var(--mantine-color-dimmed)" }}>
          {change.cluster !== change.name && change.cluster}
        </span>
      </Table.Td>
      <Table.Td>
        {change.diffs.map((diff, at) => (
          <div key={at}>
            <span className="sb-mono">{diff.field}</span>{" "}
            {diff.broker && <span style={{ color: "var(--mantine-color-dimmed)" }}>{diff.broker}</span>}{" "}
            <s style={{ color: "var(--mantine-color-dimmed)" }}>{plain(diff.now)}</s>{" "}
            <b>{plain(diff.then)}</b>
          </div>
        ))}
        {change.note && (
          <Text size="xs" c="dimmed">
            {change.note}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return "∅";
  return typeof value === "string" ? value : JSON.stringify(value);
}
