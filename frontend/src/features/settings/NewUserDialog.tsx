/** A new person, with a first role; a password that was made here is shown once. */
import { Button, Group, Modal, PasswordInput, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { BindingFields, type NewBinding, VIEWER } from "./BindingFields";
import { SecretOnce } from "./SecretOnce";
import { useTexts } from "./texts";

interface Made {
  username: string;
  password: string;
}

export function NewUserDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const t = useTexts();
  const [made, setMade] = useState<Made | null>(null);
  return (
    <>
      <Modal opened={opened} onClose={onClose} title={t("users.new")} size="lg">
        <Form
          onClose={onClose}
          onMade={(username, password) => {
            onClose();
            if (password !== null) setMade({ username, password });
          }}
        />
      </Modal>
      <SecretOnce
        secret={made?.password ?? null}
        title={t("users.madeTitle", { name: made?.username ?? "" })}
        lead={t("users.madeLead")}
        onClose={() => setMade(null)}
      />
    </>
  );
}

const NOBODY = { username: "", first_name: "", last_name: "", email: "", team: "", password: "" };

interface FormProps {
  onClose: () => void;
  onMade: (username: string, password: string | null) => void;
}

function Form({ onClose, onMade }: FormProps) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const [person, setPerson] = useState(NOBODY);
  const [binding, setBinding] = useState<NewBinding>(VIEWER);
  const act = useMutation({
    mutationFn: () => {
      const { password, ...rest } = person;
      return post("/users/", { body: { ...rest, bindings: [binding], ...(password ? { password } : {}) } });
    },
    onSuccess: (made) => {
      onMade(made.username, made.password);
      void refresh(client, "/users/");
    },
  });
  const problem = act.isError ? asProblem(act.error) : null;
  const field = (name: keyof typeof NOBODY, label: string) => (
    <TextInput
      label={label}
      value={person[name]}
      onChange={(event) => setPerson({ ...person, [name]: event.currentTarget.value })}
      error={fieldError(problem, name)}
      autoComplete="off"
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
      }}
    >
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {field("username", t("users.username"))}
          {field("team", t("users.team"))}
          {field("first_name", t("users.firstName"))}
          {field("last_name", t("users.lastName"))}
          {field("email", t("users.email"))}
          <PasswordInput
            label={t("users.password")}
            description={t("users.passwordHint")}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={person.password}
            onChange={(event) => setPerson({ ...person, password: event.currentTarget.value })}
            error={fieldError(problem, "password")}
            autoComplete="new-password"
          />
        </SimpleGrid>
        <BindingFields value={binding} onChange={setBinding} />
        {problem && <ProblemAlert error={problem} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={act.isPending} disabled={!person.username.trim()}>
            {t("users.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
