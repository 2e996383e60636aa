/** Whoever is signed in: profile, language, theme, the way out. */
import { ActionIcon, Menu, Stack, Text } from "@mantine/core";
import { IconApi, IconLogout, IconUser, IconUserCircle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { liveSocket } from "@/shared/live/live";
import { useRights, useSigning } from "@/shared/session/session";
import { LanguageSwitch, ThemeSwitch } from "@/shared/ui/switches";
import { notifyProblem } from "@/shared/ui/notices";
import { useTexts } from "../texts";

export function AccountMenu() {
  const t = useTexts();
  const { username } = useRights();
  const { signOut } = useSigning();
  function leave() {
    // The server closes the socket with the session, and screens that lose it read everything again.
    liveSocket.turnOff();
    signOut().then(
      () => window.location.assign("/sign-in"),
      (error: unknown) => {
        liveSocket.turnOn();
        notifyProblem(t("account.signOut"), error);
      },
    );
  }
  return (
    <Menu position="bottom-end" width={232} withinPortal>
      <Menu.Target>
        <ActionIcon size="md" aria-label={t("account.label", { name: username })}>
          <IconUserCircle size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Text fw={600} px="sm" pt="xs" size="sm">
          {username}
        </Text>
        <Menu.Item
          leftSection={<IconUser size={15} />}
          renderRoot={(props) => <Link to="/settings" {...props} />}
        >
          {t("account.profile")}
        </Menu.Item>
        <Menu.Item leftSection={<IconApi size={15} />} component="a" href="/api/v1/docs/" target="_blank">
          {t("account.api")}
        </Menu.Item>
        <Menu.Divider />
        <Stack gap="xs" p="xs">
          <LanguageSwitch />
          <ThemeSwitch />
        </Stack>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={15} />} onClick={leave}>
          {t("account.signOut")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
