/** A silence: for whom, from when to when, and why. */
import { Button, Group, Modal, SimpleGrid, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem, type ProblemError } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import { serverNow } from "@/shared/format/clock";
import { fieldError } from "@/shared/ui/ProblemWords";
import { TimeField } from "@/shared/ui/TimeField";
import { FormFrame } from "./FormFrame";
import { useTexts } from "./texts";

interface Props {
  opened: boolean;
  onClose: () => void;
  cluster: string;
  name: string;
  rule: string | null;
}

const HOURS = [1, 4, 24] as const;

export function SilenceForm({ opened, onClose, ...rest }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("silences.new")} size="lg">
      <Form onClose={onClose} {...rest} />
    </Modal>
  );
}

const moment = (at: number) => new Date(at).toISOString();

interface Draft {
  name_pattern: string;
  rule: string;
  starts_at: string;
  ends_at: string;
  reason: string;
}

function Form({ onClose, cluster, name, rule }: Omit<Props, "opened">) {
  const t = useTexts();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() => ({
    name_pattern: name,
    rule: rule ?? "",
    starts_at: moment(serverNow()),
    ends_at: moment(serverNow() + 3_600_000),
    reason: "",
  }));
  const set = (changes: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...changes }));
  const make = useMutation({
    mutationFn: () =>
      post("/alerts/silences/", {
        body: { ...draft, cluster_pattern: cluster, rule: draft.rule.trim() || null },
      }),
    onSuccess: async () => {
      onClose();
      await refresh(client, "/alerts/silences/", "/alerts/");
    },
  });
  const problem = asProblem(make.error);
  const isReady =
    draft.reason.trim().length >= 3 &&
    draft.name_pattern !== "" &&
    draft.starts_at !== "" &&
    draft.ends_at !== "";
  return (
    <FormFrame isReady={isReady} act={make} actionLabel={t("form.create")} onClose={onClose}>
      <WhenFields draft={draft} set={set} problem={problem} />
      <TextInput
        label={t("silences.reason")}
        value={draft.reason}
        error={fieldError(problem, "reason")}
        required
        data-autofocus
        onChange={(event) => set({ reason: event.currentTarget.value })}
      />
    </FormFrame>
  );
}

interface WhenProps {
  draft: Draft;
  set: (changes: Partial<Draft>) => void;
  problem: ProblemError;
}

function WhenFields({ draft, set, problem }: WhenProps) {
  const t = useTexts();
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label={t("form.names")}
          description={t("form.patternHint")}
          value={draft.name_pattern}
          error={fieldError(problem, "name_pattern")}
          required
          onChange={(event) => set({ name_pattern: event.currentTarget.value })}
        />
        <TextInput
          label={t("silences.rule")}
          description={t("silences.anyRule")}
          value={draft.rule}
          error={fieldError(problem, "rule")}
          onChange={(event) => set({ rule: event.currentTarget.value })}
        />
        <TimeField
          label={t("silences.begins")}
          value={draft.starts_at}
          onChange={(starts_at) => set({ starts_at })}
          required
          w="100%"
        />
        <TimeField
          label={t("silences.ends")}
          value={draft.ends_at}
          onChange={(ends_at) => set({ ends_at })}
          error={fieldError(problem, "ends_at")}
          required
          w="100%"
        />
      </SimpleGrid>
      <Group gap="xs">
        {HOURS.map((hours) => (
          <Button
            key={hours}
            variant="default"
            size="compact-xs"
            onClick={() =>
              set({ ends_at: moment((Date.parse(draft.starts_at) || serverNow()) + hours * 3_600_000) })
            }
          >
            {t("silences.hours", { count: hours })}
          </Button>
        ))}
      </Group>
    </>
  );
}
