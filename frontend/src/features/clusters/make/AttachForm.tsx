/** A cluster that somebody else runs: asked for its brokers first, then attached. */
import {
  Button,
  Checkbox,
  Group,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import { notify } from "@/shared/ui/notices";
import { Panel } from "@/shared/ui/Panel";
import { OperationPlanView } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import type { components } from "@/types/api.gen";
import { linesOf } from "../labels";
import { useTexts } from "../texts";
import { isName } from "./draft";
import classes from "./Make.module.css";

type Wanted = components["schemas"]["AttachRequest"];
type Plan = components["schemas"]["OperationPlan"];

const EMPTY = {
  name: "",
  servers: "",
  broker_cluster_name: "",
  access_key: "",
  secret_key: "",
  uses_tls: false,
};

export function AttachForm() {
  const t = useTexts();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [form, setForm] = useState(EMPTY);
  const { servers, ...rest } = form;
  const body: Wanted = { kind: "attached", ...rest, name_servers: linesOf(servers), labels: {} };
  const look = useMutation({
    mutationFn: async () => (await post("/clusters/", { body, query: { dry_run: true } })) as Plan,
  });
  const attach = useMutation({
    mutationFn: () => post("/clusters/", { body }),
    onSuccess: async () => {
      await refresh(client, "/clusters/", "/fleet/");
      notify(t("attach.done", { name: form.name }));
      await navigate({ to: "/clusters/$cluster", params: { cluster: form.name } });
    },
  });
  function change(changes: Partial<typeof EMPTY>) {
    setForm({ ...form, ...changes });
    // What was found was found with other words.
    look.reset();
    attach.reset();
  }
  const isReady = isName(form.name) && body.name_servers.length > 0;
  const error = attach.error ?? look.error;
  const problem = error ? asProblem(error) : undefined;
  return (
    <form
      className={classes.wizard}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) look.mutate();
      }}
    >
      <Stack gap="md">
        <Text size="sm">{t("attach.lead")}</Text>
        <Fields form={form} onChange={change} errorOf={(field) => fieldError(problem, field)} />
        {problem && <ProblemAlert error={problem} isWrite={attach.isError} />}
        {look.data && (
          <Panel title={t("attach.found")}>
            <OperationPlanView plan={look.data} />
          </Panel>
        )}
        <Group justify="flex-end">
          <Button
            type="submit"
            variant={look.data ? "default" : "filled"}
            loading={look.isPending}
            disabled={!isReady}
          >
            {t("attach.look")}
          </Button>
          {look.data && (
            <Button loading={attach.isPending} onClick={() => attach.mutate()}>
              {t("attach.apply")}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface FieldsProps {
  form: typeof EMPTY;
  onChange: (changes: Partial<typeof EMPTY>) => void;
  errorOf: (field: string) => ReactNode;
}

function Fields({ form, onChange, errorOf }: FieldsProps) {
  const t = useTexts();
  const isWrong = form.name !== "" && !isName(form.name);
  return (
    <>
      <TextInput
        label={t("make.name")}
        description={t("make.nameHint")}
        value={form.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        error={isWrong ? t("make.nameHint") : errorOf("name")}
        required
        spellCheck={false}
        autoComplete="off"
      />
      <Textarea
        label={t("attach.servers")}
        description={t("attach.serversHint")}
        placeholder="10.0.0.9:9876"
        value={form.servers}
        onChange={(event) => onChange({ servers: event.currentTarget.value })}
        error={errorOf("name_servers")}
        autosize
        minRows={2}
        required
        spellCheck={false}
      />
      <TextInput
        label={t("attach.clusterName")}
        description={t("attach.clusterNameHint")}
        value={form.broker_cluster_name}
        onChange={(event) => onChange({ broker_cluster_name: event.currentTarget.value })}
        spellCheck={false}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={t("attach.accessKey")}
          value={form.access_key}
          onChange={(event) => onChange({ access_key: event.currentTarget.value })}
          spellCheck={false}
          autoComplete="off"
        />
        <PasswordInput
          label={t("attach.secretKey")}
          description={t("attach.secretHint")}
          inputWrapperOrder={["label", "input", "description", "error"]}
          value={form.secret_key}
          onChange={(event) => onChange({ secret_key: event.currentTarget.value })}
          autoComplete="new-password"
        />
      </SimpleGrid>
      <Checkbox
        label={t("attach.tls")}
        checked={form.uses_tls}
        onChange={(event) => onChange({ uses_tls: event.currentTarget.checked })}
      />
    </>
  );
}
