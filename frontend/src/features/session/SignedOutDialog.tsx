/** A session that is over while somebody works: the page stays, and goes on after signing in again. */
import { Anchor, Modal, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { onSignedOut } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { SignInForm } from "./SignInForm";
import { useTexts } from "./texts";

export function SignedOutDialog({ onBack }: { onBack: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const { username } = useRights();
  const [isOut, setOut] = useState(false);
  useEffect(() => onSignedOut(() => setOut(true)), []);
  return (
    <Modal opened={isOut} onClose={() => undefined} withCloseButton={false} title={t("out.title")} size="sm">
      <Stack gap="md">
        <Text size="sm">{t("out.detail")}</Text>
        <SignInForm
          username={username}
          onDone={() => {
            setOut(false);
            onBack();
          }}
        />
        <Anchor
          size="xs"
          component="button"
          onClick={() => {
            client.clear();
            void refresh(client, "/session/").then(() => window.location.assign("/sign-in"));
          }}
        >
          {t("out.other")}
        </Anchor>
      </Stack>
    </Modal>
  );
}
