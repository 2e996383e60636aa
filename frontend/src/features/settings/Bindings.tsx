/** The roles of one person: bound and taken away one by one. */
import { ActionIcon, Button, Group, Stack, Table, Text, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { del, post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { Confirm } from "@/shared/ui/Confirm";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { BindingFields, type NewBinding, VIEWER } from "./BindingFields";
import { RolesExplained } from "./ProfileTab";
import { useTexts } from "./texts";
import { RoleTag } from "./TokensTab";
import type { User } from "./UsersTab";

type Binding = User["bindings"][number];

export function Bindings({ user }: { user: User }) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const [wanted, setWanted] = useState<NewBinding>(VIEWER);
  const params = { user: user.username };
  const onSuccess = () => refresh(client, "/users/", "/users/{user}/", "/session/");
  const bind = useMutation({
    mutationFn: () => post("/users/{user}/bindings/", { params, body: wanted }),
    onSuccess,
  });
  const [leaving, setLeaving] = useState<Binding | null>(null);
  return (
    <Stack gap="sm">
      {user.bindings.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t("users.noRoles")}
        </Text>
      ) : (
        <BindingTable user={user} onUnbind={setLeaving} />
      )}
      <Confirm
        opened={leaving !== null}
        onClose={() => setLeaving(null)}
        title={t("users.unbindTitle")}
        actionLabel={t("users.unbindAction")}
        onConfirm={async () => {
          if (leaving === null) return;
          await del("/users/{user}/bindings/{binding}/", { params: { ...params, binding: leaving.id } });
          await onSuccess();
        }}
      >
        <Text size="sm">
          {leaving &&
            t("users.unbindDetail", {
              name: user.username,
              role: shared(`role.${leaving.role}`),
              clusters: leaving.cluster_pattern,
              names: leaving.name_pattern,
            })}
        </Text>
      </Confirm>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          bind.mutate();
        }}
      >
        <Stack gap="xs">
          <BindingFields value={wanted} onChange={setWanted} />
          {bind.isError && <ProblemAlert error={bind.error} isWrite />}
          <Group>
            <Button type="submit" variant="default" loading={bind.isPending}>
              {t("users.bind")}
            </Button>
          </Group>
        </Stack>
      </form>
      <RolesExplained />
    </Stack>
  );
}

function BindingTable({ user, onUnbind }: { user: User; onUnbind: (binding: Binding) => void }) {
  const t = useTexts();
  const shared = useShared();
  return (
    <Table verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("users.role")}</Table.Th>
          <Table.Th>{t("users.clusters")}</Table.Th>
          <Table.Th>{t("users.names")}</Table.Th>
          <Table.Td w={40} />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {user.bindings.map((binding) => {
          const label = t("users.unbind", {
            role: shared(`role.${binding.role}`),
            clusters: binding.cluster_pattern,
          });
          return (
            <Table.Tr key={binding.id}>
              <Table.Td>
                <RoleTag role={binding.role} />
              </Table.Td>
              <Table.Td>{binding.cluster_pattern}</Table.Td>
              <Table.Td>{binding.name_pattern}</Table.Td>
              <Table.Td>
                <Tooltip label={label}>
                  <ActionIcon aria-label={label} onClick={() => onUnbind(binding)}>
                    <IconTrash size={15} />
                  </ActionIcon>
                </Tooltip>
              </Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
