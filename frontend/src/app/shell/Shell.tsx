/** The frame of every page: header, navigation, the live socket, and what is shown when a session is over. */
import { AppShell, Burger, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { SignedOutDialog } from "@/features/session/SignedOutDialog";
import { tellSignedOut } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { liveSocket } from "@/shared/live/live";
import { NO_RIGHTS, SIGNED_OUT } from "@/shared/live/socket";
import { useTexts } from "../texts";
import { AccountMenu } from "./AccountMenu";
import { LiveBadge } from "./LiveBadge";
import { Logo } from "./Logo";
import { Navigation } from "./Navigation";
import { SearchButton } from "./Search";
import classes from "./Shell.module.css";

export function Shell() {
  const t = useTexts();
  const [isOpen, menu] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { close } = menu;
  useEffect(() => {
    close();
  }, [path, close]);
  useLiveSocket();
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 212, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      classNames={{ main: classes.main, navbar: classes.navbar, header: classes.header }}
    >
      <a className={classes.skip} href="#content">
        {t("skip")}
      </a>
      <AppShell.Header>
        <Group h="100%" px="sm" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={isOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={t("menu")} />
            <Logo />
          </Group>
          <Group gap="sm" wrap="nowrap">
            <SearchButton />
            <LiveBadge />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar>
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
      <SignedOutDialog onBack={() => liveSocket.turnOn()} />
    </AppShell>
  );
}

/** One socket per tab, while somebody is signed in and looks. */
function useLiveSocket() {
  const client = useQueryClient();
  useEffect(() => {
    const hidden = () => liveSocket.setHidden(document.visibilityState === "hidden");
    liveSocket.onClosed = (code) => {
      if (code === SIGNED_OUT) tellSignedOut();
      if (code === NO_RIGHTS) void refresh(client, "/session/");
    };
    let before = liveSocket.state;
    const leave = liveSocket.watch(() => {
      // What it told is gone, and what was read before is older still.
      if (liveSocket.state === "polling" && before !== "polling") void client.invalidateQueries();
      before = liveSocket.state;
    });
    liveSocket.turnOn();
    document.addEventListener("visibilitychange", hidden);
    return () => {
      leave();
      document.removeEventListener("visibilitychange", hidden);
      liveSocket.turnOff();
    };
  }, [client]);
}
