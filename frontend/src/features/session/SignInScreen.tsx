/** The page before all others. */
import { Center, Group, Image, Paper, Stack, Text, Title } from "@mantine/core";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import mark from "/signalbox.svg";
import { useSession } from "@/shared/session/session";
import { LanguageSwitch, ThemeSwitch } from "@/shared/ui/switches";
import { safeNext } from "./search";
import { SignInForm } from "./SignInForm";
import { useTexts } from "./texts";

export function SignInScreen() {
  const t = useTexts();
  const router = useRouter();
  const next = safeNext((useSearch({ strict: false }) as { next?: string }).next ?? "");
  // Also sets the CSRF cookie that signing in needs.
  const session = useSession();
  const isSignedIn = session.data?.is_signed_in ?? false;
  useEffect(() => {
    document.title = t("title");
  }, [t]);
  useEffect(() => {
    if (isSignedIn) router.history.replace(next);
  }, [isSignedIn, next, router]);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="min(360px, 100%)" gap="lg">
        <Stack gap={6} align="center" ta="center">
          <Image src={mark} alt="" w={48} h={48} />
          <Title order={1}>{t("title")}</Title>
          <Text size="sm" c="dimmed">
            {t("lead")}
          </Text>
        </Stack>
        <Paper className="sb-panel" p="lg">
          <SignInForm onDone={() => undefined} />
        </Paper>
        <Text size="xs" c="dimmed" ta="center">
          {t("firstTime")}
        </Text>
        <Group justify="center" gap="lg">
          <LanguageSwitch />
          <ThemeSwitch />
        </Group>
      </Stack>
    </Center>
  );
}
