/** Who one is, what one may do, one's password, and how the pages look. */
import { Button, Group, List, PasswordInput, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import type { Grant } from "@/shared/session/rights";
import { useRights } from "@/shared/session/session";
import { useShared } from "@/shared/texts/shared";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notify } from "@/shared/ui/notices";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { Tag } from "@/shared/ui/StateBadge";
import { LanguageSwitch, ThemeSwitch } from "@/shared/ui/switches";
import { useTexts } from "./texts";

export function ProfileTab() {
  const t = useTexts();
  const { session } = useRights();
  if (session === undefined) return null;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" maw={1100}>
      <Stack gap="md">
        <Panel title={t("profile.who")}>
          <KeyValue
            items={[
              [t("profile.username"), session.username],
              [t("profile.team"), session.team || <span className="sb-stale">{t("profile.noTeam")}</span>],
              session.is_superuser
                ? [t("profile.role"), <Tag key="super">{t("profile.superuser")}</Tag>]
                : null,
            ]}
          />
        </Panel>
        <Panel title={t("profile.look")}>
          <KeyValue
            items={[
              [t("profile.language"), <LanguageSwitch key="language" />],
              [t("profile.theme"), <ThemeSwitch key="theme" />],
            ]}
          />
        </Panel>
        <PasswordPanel />
      </Stack>
      <Stack>
        <Panel title={t("profile.rights")}>
          <Stack gap="sm">
            <Grants grants={session.grants} />
            <RolesExplained />
          </Stack>
        </Panel>
      </Stack>
    </SimpleGrid>
  );
}

function Grants({ grants }: { grants: readonly Grant[] }) {
  const t = useTexts();
  const shared = useShared();
  if (grants.length === 0) return <Text size="sm">{t("profile.rightsNone")}</Text>;
  return (
    <Table verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("profile.role")}</Table.Th>
          <Table.Th>{t("profile.clusters")}</Table.Th>
          <Table.Th>{t("profile.names")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {grants.map((grant, at) => (
          <Table.Tr key={at}>
            <Table.Td>
              <Tag tone={grant.role === "viewer" ? "quiet" : "info"}>{shared(`role.${grant.role}`)}</Tag>
            </Table.Td>
            <Table.Td>{grant.clusters === "*" ? t("profile.everything") : grant.clusters}</Table.Td>
            <Table.Td>{grant.names === "*" ? t("profile.everything") : grant.names}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

const ROLES = ["viewer", "operator", "admin"] as const;

export function RolesExplained() {
  const t = useTexts();
  const shared = useShared();
  return (
    <Stack gap={6}>
      <List size="sm" spacing={4} listStyleType="none">
        {ROLES.map((role) => (
          <List.Item key={role}>
            <Tag tone={role === "viewer" ? "quiet" : "info"}>{shared(`role.${role}`)}</Tag>{" "}
            <Text span size="sm" c="dimmed">
              {t(`roles.${role}`)}
            </Text>
          </List.Item>
        ))}
      </List>
      <Text size="xs" c="dimmed">
        {t("roles.explain")}
      </Text>
    </Stack>
  );
}

function PasswordPanel() {
  const t = useTexts();
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const [again, setAgain] = useState("");
  const act = useMutation({
    mutationFn: () =>
      post("/session/password/", { body: { current_password: current, new_password: wanted } }),
    onSuccess: () => {
      notify(t("password.changed"));
      setCurrent("");
      setWanted("");
      setAgain("");
    },
  });
  const problem = act.isError ? asProblem(act.error) : null;
  const isMismatch = again !== "" && again !== wanted;
  return (
    <Panel title={t("password.title")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act.mutate();
        }}
      >
        <Stack gap="sm" maw={360}>
          <PasswordInput
            label={t("password.current")}
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            autoComplete="current-password"
            error={fieldError(problem, "current_password")}
          />
          <PasswordInput
            label={t("password.new")}
            description={t("password.hint")}
            value={wanted}
            onChange={(event) => setWanted(event.currentTarget.value)}
            autoComplete="new-password"
            error={fieldError(problem, "new_password")}
          />
          <PasswordInput
            label={t("password.again")}
            value={again}
            onChange={(event) => setAgain(event.currentTarget.value)}
            autoComplete="new-password"
            error={isMismatch ? t("password.mismatch") : undefined}
          />
          {problem && problem.errors.length === 0 && <ProblemAlert error={problem} isWrite />}
          <Group>
            <Button type="submit" loading={act.isPending} disabled={!current || !wanted || again !== wanted}>
              {t("password.change")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}
