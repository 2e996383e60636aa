/** The rules of a user, as brokers have them. */
import { Group, Table, Text } from "@mantine/core";
import { Tag } from "@/shared/ui/StateBadge";
import type { Policy } from "./policy";
import { useTexts } from "./texts";

export function PolicyTable({ policies }: { policies: readonly Policy[] }) {
  const t = useTexts();
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table verticalSpacing={5}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("policy.resource")}</Table.Th>
            <Table.Th>{t("policy.actions")}</Table.Th>
            <Table.Th>{t("policy.from")}</Table.Th>
            <Table.Th>{t("policy.decision")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {policies.map((policy) => (
            <PolicyRow key={`${policy.type}/${policy.resource}`} policy={policy} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

export function PolicyRow({ policy }: { policy: Policy }) {
  const t = useTexts();
  const from = policy.source_ips ?? [];
  return (
    <Table.Tr>
      <Table.Td>
        <span className="sb-mono">{policy.resource}</span>
        {policy.type === "Default" && (
          <Text size="xs" c="dimmed">
            {t("policy.Default")}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {policy.actions.map((action) => (
            <Tag key={action}>{action}</Tag>
          ))}
        </Group>
      </Table.Td>
      <Table.Td>
        {from.length === 0 ? t("policy.anywhere") : <span className="sb-mono">{from.join(", ")}</span>}
      </Table.Td>
      <Table.Td>
        <Decision decision={policy.decision ?? "Allow"} />
      </Table.Td>
    </Table.Tr>
  );
}

export function Decision({ decision }: { decision: "Allow" | "Deny" }) {
  const t = useTexts();
  return <Tag tone={decision === "Allow" ? "ok" : "bad"}>{t(`policy.${decision}`)}</Tag>;
}
