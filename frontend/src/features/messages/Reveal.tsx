/** Without its masks, for those who may: with a reason, which stands in the audit. */
import { Alert, Button, Group, Modal, Stack, Text, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEye } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import type { Message } from "@/shared/message/cells";
import { useShared } from "@/shared/texts/shared";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  id: string;
  /** Kept by the page alone: it is gone when the page is left. */
  onRevealed: (message: Message) => void;
}

const LEAST = 3;

export function Reveal({ cluster, id, onRevealed }: Props) {
  const t = useTexts();
  const shared = useShared();
  const [isOpen, dialog] = useDisclosure(false);
  const [reason, setReason] = useState("");
  const reveal = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/messages/{id}/reveal/", {
        params: { cluster, id },
        body: { reason: reason.trim() },
      }),
    onSuccess: (message) => {
      onRevealed(message);
      dialog.close();
    },
  });
  const isReady = reason.trim().length >= LEAST;
  return (
    <>
      <Button variant="default" leftSection={<IconEye size={14} />} onClick={dialog.open}>
        {t("message.reveal")}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={t("reveal.title")}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (isReady) reveal.mutate();
          }}
        >
          <Stack gap="sm">
            <Text size="sm">{t("reveal.detail")}</Text>
            <Textarea
              label={t("reveal.reason")}
              placeholder={t("reveal.reasonHint")}
              value={reason}
              maxLength={500}
              onChange={(event) => setReason(event.currentTarget.value)}
              required
              data-autofocus
              autosize
              minRows={2}
            />
            {reveal.isError && <ProblemAlert error={reveal.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={dialog.close}>
                {shared("action.cancel")}
              </Button>
              <Button type="submit" disabled={!isReady} loading={reveal.isPending}>
                {t("reveal.show")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}

export function RevealedNote() {
  const t = useTexts();
  return (
    <Alert className="sb-warn" styles={TONED} icon={<IconEye size={16} />} role="status">
      {t("reveal.shown")}
    </Alert>
  );
}
