/** Name and password. Used by the page and by the dialog that comes when a session is over. */
import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/shared/api/problem";
import { useSigning } from "@/shared/session/session";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { useTexts } from "./texts";

interface Props {
  /** Whoever was signed in; empty: anybody. */
  username?: string;
  onDone: () => void;
}

export function SignInForm({ username = "", onDone }: Props) {
  const t = useTexts();
  const { signIn } = useSigning();
  const [name, setName] = useState(username);
  const [password, setPassword] = useState("");
  const act = useMutation({ mutationFn: () => signIn(name.trim(), password), onSuccess: onDone });
  const problem = act.isError ? asProblem(act.error) : null;
  const isWrong =
    problem !== null &&
    (problem.status === 401 || problem.status === 403 || problem.code === "sign_in_failed");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          size="sm"
          label={t("username")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="username"
          required
          withAsterisk={false}
          data-autofocus={username === "" ? true : undefined}
          autoFocus={username === ""}
        />
        <PasswordInput
          size="sm"
          label={t("password")}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
          withAsterisk={false}
          error={isWrong ? t("wrong") : undefined}
          data-autofocus={username !== "" ? true : undefined}
        />
        {problem && !isWrong && <ProblemAlert error={problem} />}
        <Button type="submit" size="sm" loading={act.isPending} fullWidth mt={4}>
          {t("submit")}
        </Button>
      </Stack>
    </form>
  );
}
