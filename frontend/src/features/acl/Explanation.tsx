/** The answer: yes, no, or that brokers differ; then each broker's rule. */
import { Alert, Group, Stack, Table, Text } from "@mantine/core";
import { IconCircleCheck, IconCircleX, IconHelpCircle } from "@tabler/icons-react";
import { Panel } from "@/shared/ui/Panel";
import { TONED } from "@/shared/ui/plan_views";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { PolicyRow } from "./PolicyTable";
import { useTexts } from "./texts";

type Explained = components["schemas"]["AclExplanation"];
type BrokerAnswer = components["schemas"]["AclBrokerAnswer"];
type Rule = components["schemas"]["AclRule"];

export function Explanation({ user, explanation }: { user: string; explanation: Explained }) {
  const t = useTexts();
  const { is_allowed, is_complete, brokers } = explanation;
  const alike = groupsOf(brokers);
  return (
    <Stack gap="md" role="status">
      <Alert
        className={is_allowed === null ? "sb-warn" : is_allowed ? "sb-ok" : "sb-bad"}
        styles={TONED}
        icon={is_allowed === null ? <IconHelpCircle /> : is_allowed ? <IconCircleCheck /> : <IconCircleX />}
        title={
          is_allowed === null
            ? t(is_complete ? "explain.differs" : "explain.silent")
            : t(is_allowed ? "explain.yes" : "explain.no", { user })
        }
      >
        {alike.length === 1 &&
          is_complete &&
          brokers.length > 1 &&
          t("explain.same", { count: brokers.length })}
      </Alert>
      {alike.map((answers) => (
        <AnswerPanel key={answers.map((one) => one.broker).join()} answers={answers} />
      ))}
    </Stack>
  );
}

/** Brokers that say the same for the same reason are shown once. */
function groupsOf(brokers: readonly BrokerAnswer[]): BrokerAnswer[][] {
  const groups = new Map<string, BrokerAnswer[]>();
  for (const { broker, ...said } of brokers) {
    const key = JSON.stringify(said);
    groups.set(key, [...(groups.get(key) ?? []), { broker, ...said }]);
  }
  return [...groups.values()];
}

function AnswerPanel({ answers }: { answers: BrokerAnswer[] }) {
  const t = useTexts();
  const [first] = answers;
  if (!first) return null;
  const { is_allowed, rules } = first;
  return (
    <Panel
      title={answers.map((one) => one.broker).join(", ")}
      aside={
        <StateBadge
          tone={is_allowed === null ? "quiet" : is_allowed ? "ok" : "bad"}
          label={t(
            is_allowed === null ? "explain.unknown" : is_allowed ? "explain.allowed" : "explain.refused",
          )}
        />
      }
    >
      {rules.length === 0 ? (
        <Text size="sm">
          {first.code === "silent" ? (
            `${t("explain.code.silent")} ${first.reason}`
          ) : (
            <Reason code={first.code} />
          )}
        </Text>
      ) : (
        <Stack gap="md">
          {rules.map((rule) => (
            <RuleView key={rule.needs} rule={rule} />
          ))}
        </Stack>
      )}
    </Panel>
  );
}

function Reason({ code, decision = "" }: { code: BrokerAnswer["code"]; decision?: string }) {
  const t = useTexts();
  return t(`explain.code.${code}`, { decision });
}

function RuleView({ rule }: { rule: Rule }) {
  const t = useTexts();
  return (
    <div>
      <Group gap="xs" mb={4}>
        <StateBadge
          tone={rule.is_allowed ? "ok" : "bad"}
          label={t(rule.is_allowed ? "explain.allowed" : "explain.refused")}
        />
        <Text size="sm" fw={600}>
          {t("explain.needs", { needs: rule.needs })}
        </Text>
      </Group>
      <Text size="sm">
        <Reason code={rule.code} decision={rule.entry ? t(`policy.${rule.entry.decision ?? "Allow"}`) : ""} />
      </Text>
      {rule.entry && (
        <Table.ScrollContainer minWidth={480}>
          <Table verticalSpacing={5} aria-label={t("explain.deciding")}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("policy.resource")}</Table.Th>
                <Table.Th>{t("policy.actions")}</Table.Th>
                <Table.Th>{t("policy.from")}</Table.Th>
                <Table.Th>{t("policy.decision")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              <PolicyRow policy={rule.entry} />
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </div>
  );
}
