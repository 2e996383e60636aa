/** One user: its rules, where brokers differ about it, and what can be done with it. */
import { Alert, Button, Drawer, Group, List, Menu, Stack, Text } from "@mantine/core";
import { IconChevronDown, IconHelpCircle } from "@tabler/icons-react";
import { useState } from "react";
import { TONED } from "@/shared/ui/plan_views";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { ChangeUser, DeleteUser, NewSecret } from "./ChangeUser";
import { EditPolicies } from "./EditPolicies";
import type { User } from "./policy";
import { PolicyTable } from "./PolicyTable";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  user: User;
  onClose: () => void;
  onAsk: () => void;
}

type Open = "policies" | "status" | "kind" | "secret" | "delete";

export function UserDrawer({ cluster, user, onClose, onAsk }: Props) {
  const t = useTexts();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={t("user.title", { name: user.name })}
      closeButtonProps={{ "aria-label": t("user.close") }}
    >
      <Stack gap="md">
        <Group justify="space-between">
          <Group gap="xs">
            <Tag tone={user.kind === "Super" ? "warn" : "quiet"}>{t(`kind.${user.kind}`)}</Tag>
            <StateBadge tone={user.status === "enable" ? "ok" : "quiet"} label={t(`status.${user.status}`)} />
            <Text size="xs" c="dimmed">
              {t(user.has_known_secret ? "secretKnown" : "secretUnknown")}
            </Text>
          </Group>
          <Group gap="xs">
            <Button variant="default" leftSection={<IconHelpCircle size={14} />} onClick={onAsk}>
              {t("user.ask")}
            </Button>
            <UserMenu user={user} onChoose={setOpen} />
          </Group>
        </Group>
        {user.unknown_on.length > 0 && (
          <Alert className="sb-warn" styles={TONED}>
            {t("notSaid", { brokers: user.unknown_on.join(", ") })}
          </Alert>
        )}
        {user.drift.length > 0 && <DriftAlert user={user} />}
        <Group justify="space-between">
          <Text fw={600}>{t("user.policies")}</Text>
          <Button onClick={() => setOpen("policies")}>{t("user.edit")}</Button>
        </Group>
        {user.policies.length > 0 ? (
          <>
            <PolicyTable policies={user.policies} />
            <Text size="xs" c="dimmed">
              {t("policy.order")}
            </Text>
          </>
        ) : (
          <Text size="sm">{t(user.kind === "Super" ? "user.superNone" : "user.none")}</Text>
        )}
      </Stack>
      {open === "policies" && <EditPolicies cluster={cluster} user={user} onClose={close} />}
      {(open === "status" || open === "kind") && (
        <ChangeUser cluster={cluster} user={user} field={open} onClose={close} />
      )}
      {open === "secret" && <NewSecret cluster={cluster} user={user} onClose={close} />}
      {open === "delete" && <DeleteUser cluster={cluster} user={user} onClose={close} onDeleted={onClose} />}
    </Drawer>
  );
}

function UserMenu({ user, onChoose }: { user: User; onChoose: (open: Open) => void }) {
  const t = useTexts();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" rightSection={<IconChevronDown size={14} />}>
          {t("user.actions")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChoose("status")}>
          {t(user.status === "enable" ? "user.disable" : "user.enable")}
        </Menu.Item>
        <Menu.Item onClick={() => onChoose("kind")}>
          {t(user.kind === "Super" ? "user.makeNormal" : "user.makeSuper")}
        </Menu.Item>
        <Menu.Item onClick={() => onChoose("secret")}>{t("user.newSecret")}</Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red.8" onClick={() => onChoose("delete")}>
          {t("user.delete")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function DriftAlert({ user }: { user: User }) {
  const t = useTexts();
  return (
    <Alert className="sb-warn" styles={TONED} title={t("user.drift")}>
      <List size="sm">
        {user.drift.map((row) => (
          <List.Item key={row.broker + row.field}>
            {t(row.field === "" ? "user.driftMissing" : "user.driftRow", { ...row })}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
