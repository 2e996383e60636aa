/** The stored bytes once more, to the same topic or another one. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import type { Message } from "@/shared/message/cells";
import { sentOf, SentView } from "@/shared/message/SentView";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  message: Message;
  opened: boolean;
  onClose: () => void;
}

export function Resend({ cluster, message, opened, onClose }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("resend.title")} size="lg">
      <Form cluster={cluster} message={message} onClose={onClose} />
    </Modal>
  );
}

function Form({ cluster, message, onClose }: Omit<Props, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const [topic, setTopic] = useState(message.origin_topic);
  const send = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/messages/{id}/resend/", {
        params: { cluster, id: message.offset_id },
        body: topic.trim() === message.origin_topic ? {} : { topic: topic.trim() },
      }),
  });
  const refused = send.isError ? sentOf(send.error) : null;
  const sent = send.data ?? refused;
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
        send.mutate();
      }}
    >
      <Stack gap="sm">
        <Text size="sm">{t("resend.detail")}</Text>
        <TopicPicker cluster={cluster} label={t("resend.topic")} value={topic} onChange={setTopic} required />
        <Text size="sm" c="dimmed">
          {t(message.is_masked ? "resend.masked" : "resend.everybody")}
        </Text>
        {send.isError && <ProblemAlert error={send.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={send.isPending} disabled={topic.trim() === ""}>
            {t("resend.send")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
