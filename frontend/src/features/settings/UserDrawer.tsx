/** One person: what is known about them, their roles, a new password, an end to their access. */
import { Button, Divider, Drawer, Group, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patch, post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh, useGet } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { Confirm } from "@/shared/ui/Confirm";
import { notify } from "@/shared/ui/notices";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { Bindings } from "./Bindings";
import { SecretOnce } from "./SecretOnce";
import { useTexts } from "./texts";
import type { User } from "./UsersTab";

/** Empty: nobody is open. */
export function UserDrawer({ username, onClose }: { username: string; onClose: () => void }) {
  const t = useTexts();
  const read = useGet("/users/{user}/", { params: { user: username } }, { enabled: username !== "" });
  const user = username === "" ? undefined : read.data;
  return (
    <Drawer opened={username !== ""} onClose={onClose} position="right" size="lg" title={username}>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {user === undefined ? (
        !read.isError && <Skeleton h={240} />
      ) : (
        <Stack gap="md">
          <Group gap="xs">
            <StateBadge
              tone={user.is_active ? "ok" : "quiet"}
              label={t(user.is_active ? "users.active" : "users.inactive")}
            />
            {user.is_superuser && <Tag tone="info">{t("users.superuser")}</Tag>}
          </Group>
          <About key={user.username} user={user} />
          <Divider />
          <Title order={2}>{t("users.bindings")}</Title>
          <Bindings user={user} />
          <Divider />
          <Access user={user} />
        </Stack>
      )}
    </Drawer>
  );
}

const FIELDS = [
  ["first_name", "users.firstName"],
  ["last_name", "users.lastName"],
  ["email", "users.email"],
  ["team", "users.team"],
] as const;

function About({ user }: { user: User }) {
  const t = useTexts();
  const client = useQueryClient();
  const [values, setValues] = useState({
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    team: user.team,
  });
  const act = useMutation({
    mutationFn: () => patch("/users/{user}/", { params: { user: user.username }, body: values }),
    onSuccess: async () => {
      notify(t("users.saved", { name: user.username }));
      await refresh(client, "/users/", "/users/{user}/");
    },
  });
  const problem = act.isError ? asProblem(act.error) : null;
  const isChanged = FIELDS.some(([name]) => values[name] !== user[name]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
      }}
    >
      <Stack gap="xs">
        <Group gap="sm" grow wrap="wrap" preventGrowOverflow={false}>
          {FIELDS.map(([name, label]) => (
            <TextInput
              key={name}
              label={t(label)}
              value={values[name]}
              onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
              error={fieldError(problem, name)}
              miw={200}
            />
          ))}
        </Group>
        {problem && problem.errors.length === 0 && <ProblemAlert error={problem} isWrite />}
        <Group>
          <Button type="submit" disabled={!isChanged} loading={act.isPending}>
            {t("users.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Access({ user }: { user: User }) {
  const t = useTexts();
  const client = useQueryClient();
  const { username } = useRights();
  const [asked, setAsked] = useState<"reset" | "deactivate" | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const params = { user: user.username };
  const again = () => refresh(client, "/users/", "/users/{user}/");
  const activate = useMutation({
    mutationFn: () => patch("/users/{user}/", { params, body: { is_active: true } }),
    onSuccess: again,
  });
  const close = () => setAsked(null);
  return (
    <>
      <Group>
        <Button variant="default" onClick={() => setAsked("reset")}>
          {t("users.reset")}
        </Button>
        {user.is_active && user.username !== username && (
          <Button variant="default" onClick={() => setAsked("deactivate")}>
            {t("users.deactivate")}
          </Button>
        )}
        {!user.is_active && (
          <Button variant="default" onClick={() => activate.mutate()} loading={activate.isPending}>
            {t("users.activate")}
          </Button>
        )}
      </Group>
      {activate.isError && <ProblemAlert error={activate.error} isWrite />}
      <Confirm
        opened={asked === "reset"}
        onClose={close}
        title={t("users.resetTitle", { name: user.username })}
        actionLabel={t("users.reset")}
        onConfirm={async () =>
          setMade((await post("/users/{user}/password/", { params, body: {} })).password)
        }
      >
        <Text size="sm">{t("users.resetDetail")}</Text>
      </Confirm>
      <Confirm
        opened={asked === "deactivate"}
        onClose={close}
        title={t("users.deactivateTitle", { name: user.username })}
        actionLabel={t("users.deactivate")}
        name={user.username}
        onConfirm={async () => {
          await patch("/users/{user}/", { params, body: { is_active: false } });
          await again();
        }}
      >
        <Text size="sm">{t("users.deactivateDetail")}</Text>
      </Confirm>
      <SecretOnce
        secret={made}
        title={t("users.madeTitle", { name: user.username })}
        lead={t("users.madeLead")}
        onClose={() => setMade(null)}
      />
    </>
  );
}
