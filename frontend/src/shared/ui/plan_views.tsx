/** What would be done and what was: the API's plans and outcomes (docs/rest.md), broker by broker. */
import { Alert, List, Stack, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useShared } from "@/shared/texts/shared";
import type { components } from "@/types/api.gen";
import { StateBadge, Tag, type Tone } from "./StateBadge";

type Schemas = components["schemas"];
type BrokerPlan = Schemas["Plan"];
type OperationPlan = Schemas["OperationPlan"];
type Outcomes = Schemas["Outcomes"];

const has = <K extends string>(value: unknown, key: K): value is Record<K, unknown> =>
  typeof value === "object" && value !== null && key in value;

export function PlanView({ plan }: { plan: unknown }): ReactNode {
  if (has(plan, "plan") && has(plan, "steps"))
    return <OperationPlanView plan={plan as unknown as OperationPlan} />;
  if (has(plan, "brokers")) return <BrokerPlanView plan={plan as unknown as BrokerPlan} />;
  return null;
}

export function OperationPlanView({ plan }: { plan: OperationPlan }) {
  const t = useShared();
  return (
    <Stack gap="sm">
      <Text fw={600}>{plan.summary}</Text>
      {plan.warnings.length > 0 && (
        <Alert className="sb-warn" title={t("dryRun.warnings")} styles={TONED}>
          <List size="sm">
            {plan.warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Text size="xs" c="dimmed">
        {t("dryRun.steps")}
      </Text>
      <List type="ordered" size="sm" withPadding>
        {plan.plan.map((line, at) => (
          <List.Item key={at}>{line}</List.Item>
        ))}
      </List>
      {plan.needs_approval && <Text size="sm">{t("dryRun.needsApproval")}</Text>}
    </Stack>
  );
}

const CHANGE_TONES: Record<string, Tone> = {
  create: "ok",
  update: "info",
  delete: "bad",
  none: "quiet",
  unknown: "warn",
};

function BrokerPlanView({ plan }: { plan: BrokerPlan }) {
  const t = useShared();
  const isNothing = plan.is_complete && plan.brokers.every((broker) => broker.change === "none");
  return (
    <Stack gap="sm">
      {isNothing && <Text size="sm">{t("dryRun.nothing")}</Text>}
      {!plan.is_complete && (
        <Alert className="sb-warn" styles={TONED}>
          {t("dryRun.partial")}
        </Alert>
      )}
      <Table.ScrollContainer minWidth={420}>
        <Table verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("dryRun.broker")}</Table.Th>
              <Table.Th>{t("dryRun.change")}</Table.Th>
              <Table.Th>{t("dryRun.then")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {plan.brokers.map((broker) => (
              <Table.Tr key={broker.broker + broker.address}>
                <Table.Td>{broker.broker}</Table.Td>
                <Table.Td>
                  <Tag tone={CHANGE_TONES[broker.change]}>{t(`dryRun.${broker.change}`)}</Tag>
                </Table.Td>
                <Table.Td>{broker.detail || <Difference now={broker.now} then={broker.then} />}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}

/** Only what becomes different; of something new, everything. */
export function Difference({ now, then }: { now: unknown; then: unknown }) {
  const before = asFields(now);
  const after = asFields(then);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return names.map((name) => (
    <div key={name}>
      <span className="sb-mono">{name}</span>{" "}
      {name in before && <s className="sb-stale">{plain(before[name])}</s>} <b>{plain(after[name])}</b>
    </div>
  ));
}

function asFields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "∅" : JSON.stringify(value);
}

export function ResultView({ result }: { result: unknown }): ReactNode {
  const t = useShared();
  if (!has(result, "brokers")) return <StateBadge state="done" label={t("state.done")} />;
  const outcomes = result as unknown as Outcomes;
  return (
    <Stack gap="sm">
      <Alert className={outcomes.is_complete ? "sb-ok" : "sb-warn"} styles={TONED} role="status">
        {t(outcomes.is_complete ? "dryRun.done" : "dryRun.partly")}
      </Alert>
      <Table.ScrollContainer minWidth={420}>
        <Table verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("dryRun.broker")}</Table.Th>
              <Table.Th>{t("dryRun.result")}</Table.Th>
              <Table.Th>{t("dryRun.readBack")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {outcomes.brokers.map((broker) => (
              <Table.Tr key={broker.broker + broker.address}>
                <Table.Td>{broker.broker}</Table.Td>
                <Table.Td>
                  <StateBadge state={broker.ok ? "done" : "failed"} />
                </Table.Td>
                <Table.Td>{broker.detail || <Difference now={null} then={broker.read_back} />}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}

export const TONED = {
  root: { background: "var(--sb-tone-soft)", border: "1px solid var(--sb-line)" },
  title: { color: "var(--sb-tone)" },
  icon: { color: "var(--sb-tone)" },
  message: { color: "var(--mantine-color-text)" },
} as const;
