/** A rule, new or changed. */
import { Checkbox, Modal, MultiSelect, NumberInput, Select, SimpleGrid, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patch, post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh, useGet } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { fieldError } from "@/shared/ui/ProblemWords";
import { FormFrame } from "./FormFrame";
import { draftOf, type Kind, KINDS, newRule, type Rule, type RuleDraft, UNITS, withKind } from "./rule_form";
import { useTexts } from "./texts";

interface Props {
  opened: boolean;
  onClose: () => void;
  cluster: string;
  /** Null: a new one. */
  rule: Rule | null;
}

export function RuleForm({ opened, onClose, cluster, rule }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t(rule ? "rules.edit" : "rules.new")} size="lg">
      <Form onClose={onClose} cluster={cluster} rule={rule} />
    </Modal>
  );
}

function Form({ onClose, cluster, rule }: Omit<Props, "opened">) {
  const t = useTexts();
  const client = useQueryClient();
  const [draft, setDraft] = useState<RuleDraft>(() => (rule ? draftOf(rule) : newRule(cluster)));
  const save = useMutation({
    mutationFn: () =>
      rule
        ? patch("/alerts/rules/{id}/", { params: { id: Number(rule.id) }, body: draft })
        : post("/alerts/rules/", { body: draft }),
    onSuccess: async () => {
      onClose();
      await refresh(client, "/alerts/rules/", "/alerts/");
    },
  });
  const isReady = draft.name.trim() !== "" && draft.cluster_pattern !== "" && draft.name_pattern !== "";
  return (
    <FormFrame
      isReady={isReady}
      act={save}
      actionLabel={t(rule ? "form.save" : "form.create")}
      onClose={onClose}
    >
      <Fields draft={draft} onChange={setDraft} error={save.error} />
    </FormFrame>
  );
}

function Fields({
  draft,
  onChange,
  error,
}: {
  draft: RuleDraft;
  onChange: (draft: RuleDraft) => void;
  error: unknown;
}) {
  const t = useTexts();
  const problem = asProblem(error);
  const unit = UNITS[draft.kind];
  const set = (changes: Partial<RuleDraft>) => onChange({ ...draft, ...changes });
  return (
    <>
      <TextInput
        label={t("form.name")}
        value={draft.name}
        maxLength={64}
        required
        data-autofocus
        error={fieldError(problem, "name")}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <Select
          label={t("form.kind")}
          value={draft.kind}
          onChange={(kind) => onChange(withKind(draft, kind as Kind))}
          data={KINDS.map((kind) => ({ value: kind, label: t(`kind.${kind}`) }))}
        />
        {unit !== null && (
          <NumberInput
            label={t("form.threshold")}
            description={t(`unit.${unit}`)}
            value={draft.threshold}
            min={0}
            decimalScale={unit === "ratio" ? 3 : 0}
            step={unit === "ratio" ? 0.05 : 1}
            error={fieldError(problem, "threshold")}
            onChange={(value) => set({ threshold: Number(value) || 0 })}
            inputWrapperOrder={["label", "input", "description", "error"]}
          />
        )}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label={t("form.clusters")}
          description={t("form.patternHint")}
          value={draft.cluster_pattern}
          required
          error={fieldError(problem, "cluster_pattern")}
          onChange={(event) => set({ cluster_pattern: event.currentTarget.value })}
        />
        <TextInput
          label={t("form.names")}
          description={t("form.patternHint")}
          value={draft.name_pattern}
          required
          error={fieldError(problem, "name_pattern")}
          onChange={(event) => set({ name_pattern: event.currentTarget.value })}
        />
        <NumberInput
          label={t("form.forS")}
          value={draft.for_s}
          min={0}
          max={86_400}
          onChange={(value) => set({ for_s: Number(value) || 0 })}
        />
        <Select
          label={t("form.severity")}
          value={draft.severity}
          onChange={(severity) => set({ severity: severity as RuleDraft["severity"] })}
          data={(["info", "warning", "critical"] as const).map((one) => ({
            value: one,
            label: t(`severity.${one}`),
          }))}
        />
      </SimpleGrid>
      <ChannelField value={draft.channels} onChange={(channels) => set({ channels })} />
      <Checkbox
        label={t("form.enabled")}
        checked={draft.is_enabled}
        onChange={(event) => set({ is_enabled: event.currentTarget.checked })}
      />
    </>
  );
}

function ChannelField({ value, onChange }: { value: string[]; onChange: (names: string[]) => void }) {
  const t = useTexts();
  const maySee = useRights().may("viewer");
  const read = useGet("/alerts/channels/", { query: { limit: 500 } }, { enabled: maySee });
  const names = read.data?.results.map((channel) => channel.name) ?? [];
  return (
    <MultiSelect
      label={t("form.channels")}
      description={t("form.channelsHint")}
      data={[...new Set([...names, ...value])]}
      value={value}
      onChange={onChange}
      searchable
      clearable
    />
  );
}
