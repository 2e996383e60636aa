/** A new token: what it is for, what it may do, how long; then its secret, once. */
import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import type { Role } from "@/shared/session/rights";
import { useShared } from "@/shared/texts/shared";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { RoleSelect } from "./RoleSelect";
import { SecretOnce } from "./SecretOnce";
import { useTexts } from "./texts";

const DAYS = 90;
const MOST_DAYS = 366;

export function NewTokenDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const t = useTexts();
  const [secret, setSecret] = useState<string | null>(null);
  const command = `curl -H "Authorization: Bearer ${secret}" ${window.location.origin}/api/v1/session/`;
  return (
    <>
      <Modal opened={opened} onClose={onClose} title={t("tokens.new")}>
        <Form
          onClose={onClose}
          onMade={(made) => {
            onClose();
            setSecret(made);
          }}
        />
      </Modal>
      <SecretOnce
        secret={secret}
        title={t("tokens.secretTitle")}
        lead={t("tokens.secretLead")}
        onClose={() => setSecret(null)}
      >
        <Text size="xs" c="dimmed">
          {t("tokens.use")}
        </Text>
        <CodeBlock code={command} label={t("tokens.use")} wrap />
      </SecretOnce>
    </>
  );
}

function Form({ onClose, onMade }: { onClose: () => void; onMade: (secret: string) => void }) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [clusters, setClusters] = useState("*");
  const [days, setDays] = useState(DAYS);
  const act = useMutation({
    mutationFn: () =>
      post("/tokens/", {
        body: { name: name.trim(), role, cluster_pattern: clusters.trim(), expires_in_days: days },
      }),
    onSuccess: (made) => {
      onMade(made.secret);
      void refresh(client, "/tokens/");
    },
  });
  const problem = act.isError ? asProblem(act.error) : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={t("tokens.name")}
          description={t("tokens.nameHint")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fieldError(problem, "name")}
          maxLength={64}
          data-autofocus
        />
        <RoleSelect label={t("tokens.role")} value={role} onChange={setRole} />
        <TextInput
          label={t("tokens.clusters")}
          description={t("tokens.clustersHint")}
          value={clusters}
          onChange={(event) => setClusters(event.currentTarget.value)}
          error={fieldError(problem, "cluster_pattern")}
        />
        <NumberInput
          label={t("tokens.days")}
          value={days}
          onChange={(value) => setDays(Number(value) || 1)}
          min={1}
          max={MOST_DAYS}
          error={fieldError(problem, "expires_in_days")}
        />
        {problem && problem.errors.length === 0 && <ProblemAlert error={problem} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={act.isPending} disabled={!name.trim() || !clusters.trim()}>
            {t("tokens.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
