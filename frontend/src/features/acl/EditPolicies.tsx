/** A user's rules as a whole: edited, previewed broker by broker, written and read back. */
import {
  ActionIcon,
  Button,
  Group,
  MultiSelect,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { put } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import {
  areComplete,
  fieldsOf,
  isResource,
  NEW_POLICY,
  POLICY_ACTIONS,
  type PolicyFields,
  policyOf,
  type User,
} from "./policy";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/acl/users/{user}/policies/";
export const USERS = "/clusters/{cluster}/acl/users/";

export function EditPolicies({
  cluster,
  user,
  onClose,
}: {
  cluster: string;
  user: User;
  onClose: () => void;
}) {
  const t = useTexts();
  const client = useQueryClient();
  const [rules, setRules] = useState(() => user.policies.map(fieldsOf));
  const params = { cluster, user: user.name };
  const body = { policies: rules.map(policyOf) };
  function change(at: number, changes: Partial<PolicyFields>) {
    setRules(rules.map((rule, number) => (number === at ? { ...rule, ...changes } : rule)));
  }
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      size="xl"
      title={t("policy.editTitle", { name: user.name })}
      applyLabel={t("policy.apply")}
      canPreview={areComplete(rules)}
      preview={() => put(PATH, { params, body, query: { dry_run: true } })}
      apply={() => put(PATH, { params, body })}
      onApplied={() => void refresh(client, USERS)}
    >
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          {t("policy.replaces")}
        </Text>
        {rules.map((rule, at) => (
          <RuleFields
            key={at}
            number={at + 1}
            rule={rule}
            onChange={(changes) => change(at, changes)}
            onRemove={() => setRules(rules.filter((_, number) => number !== at))}
          />
        ))}
        <Group>
          <Button
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() => setRules([...rules, NEW_POLICY])}
          >
            {t("policy.add")}
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {t("policy.order")}
        </Text>
      </Stack>
    </DryRunDialog>
  );
}

interface RuleProps {
  number: number;
  rule: PolicyFields;
  onChange: (changes: Partial<PolicyFields>) => void;
  onRemove: () => void;
}

function RuleFields({ number, rule, onChange, onRemove }: RuleProps) {
  const t = useTexts();
  const isTyped = rule.resource !== "" && rule.resource !== NEW_POLICY.resource;
  return (
    <Stack gap={6} component="fieldset" className="sb-panel" p="sm" m={0}>
      <Group justify="space-between" component="legend" w="100%" style={{ float: "left" }}>
        <Text size="sm" fw={600}>
          {t("policy.number", { number })}
        </Text>
        <ActionIcon aria-label={t("policy.remove", { number })} onClick={onRemove}>
          <IconTrash size={15} />
        </ActionIcon>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label={t("policy.resource")}
          description={t("policy.resourceHint")}
          value={rule.resource}
          onChange={(event) => onChange({ resource: event.currentTarget.value })}
          error={isTyped && !isResource(rule.resource) ? t("policy.wrong") : undefined}
          spellCheck={false}
          autoComplete="off"
        />
        <TextInput
          label={t("policy.from")}
          description={t("policy.fromHint")}
          value={rule.from}
          onChange={(event) => onChange({ from: event.currentTarget.value })}
          spellCheck={false}
        />
        <MultiSelect
          label={t("policy.actions")}
          data={[...POLICY_ACTIONS]}
          value={rule.actions}
          onChange={(actions) => onChange({ actions })}
        />
        <Group grow>
          <Select
            label={t("policy.decision")}
            value={rule.decision}
            onChange={(decision) => onChange({ decision: decision as PolicyFields["decision"] })}
            data={(["Allow", "Deny"] as const).map((value) => ({ value, label: t(`policy.${value}`) }))}
          />
          <Select
            label={t("policy.type")}
            value={rule.type}
            onChange={(type) => onChange({ type: type as PolicyFields["type"] })}
            data={(["Custom", "Default"] as const).map((value) => ({ value, label: t(`policy.${value}`) }))}
          />
        </Group>
      </SimpleGrid>
    </Stack>
  );
}
