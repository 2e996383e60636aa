/** A dead letter once more, changed where somebody changed it, to its group alone. */
import { Button, Group, Loader, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { addressOf, post } from "@/shared/api/client";
import { problemOf } from "@/shared/api/problem";
import type { Message } from "@/shared/message/cells";
import { type Draft, faultsOf, isSendable } from "@/shared/message/content";
import { ContentFields } from "@/shared/message/ContentFields";
import { sentOf, SentView } from "@/shared/message/SentView";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { draftOf, editsOf, keepsBody } from "./editing";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  group: string;
  message: Message;
  opened: boolean;
  onClose: () => void;
}

export function EditAndResend({ opened, onClose, ...rest }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("edit.title")} size="xl">
      <WholeBody {...rest} onClose={onClose} />
    </Modal>
  );
}

/** What is edited is the stored body: the page has its beginning only, of a long one. */
function WholeBody(props: Omit<Props, "opened">) {
  const { cluster, message } = props;
  const t = useTexts();
  const mustRead = keepsBody(message) === null && message.body.is_cut;
  const whole = useQuery({
    queryKey: ["body text", cluster, message.offset_id],
    queryFn: async ({ signal }) => {
      const address = addressOf(
        "/clusters/{cluster}/messages/{id}/",
        { cluster, id: message.offset_id },
        { full: true },
      );
      const response = await fetch(address, { signal, credentials: "same-origin" });
      if (!response.ok) throw await problemOf(response);
      return response.text();
    },
    enabled: mustRead,
    staleTime: Infinity,
  });
  if (whole.isError) return <ProblemAlert error={whole.error} onRetry={() => void whole.refetch()} />;
  if (mustRead && whole.data === undefined) {
    return (
      <Group gap="xs" role="status">
        <Loader size="xs" />
        <Text size="sm">{t("edit.loading")}</Text>
      </Group>
    );
  }
  return <Form {...props} text={whole.data ?? message.body.text ?? ""} />;
}

function Form({ cluster, group, message, onClose, text }: Omit<Props, "opened"> & { text: string }) {
  const t = useTexts();
  const shared = useShared();
  const why = keepsBody(message);
  const [before] = useState(() => draftOf(message, text));
  const [draft, setDraft] = useState<Draft>(before);
  const send = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/dlq/{group}/messages/{id}/resend/", {
        params: { cluster, group, id: message.offset_id },
        body: editsOf(before, draft, why !== null),
      }),
  });
  const sent = send.data ?? (send.isError ? sentOf(send.error) : null);
  const canSend = why === null ? isSendable(draft) : faultsOf(draft).properties === undefined;
  if (sent) {
    return (
      <Stack gap="sm">
        <SentView sent={sent} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{shared("action.close")}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) send.mutate();
      }}
    >
      <Stack gap="sm">
        <Text size="sm">{t("edit.detail", { group })}</Text>
        {why !== null && (
          <Text size="sm" c="dimmed">
            {t("edit.keeps", { why: t(`edit.${why}`) })}
          </Text>
        )}
        <ContentFields
          draft={draft}
          onChange={(changes) => setDraft((now) => ({ ...now, ...changes }))}
          keepsBody={why !== null}
        />
        {send.isError && <ProblemAlert error={send.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={send.isPending} disabled={!canSend}>
            {t("edit.send", { group })}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
