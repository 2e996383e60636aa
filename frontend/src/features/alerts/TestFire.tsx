/** A test of a rule's or a channel's way to people: sent now, and what came of it per channel. */
import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

interface Props {
  opened: boolean;
  onClose: () => void;
  rule?: { id: string; name: string };
  channel?: { id: string; name: string };
}

export function TestFire({ opened, onClose, rule, channel }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("test.title", { name: (rule ?? channel)?.name ?? "" })}>
      <Test onClose={onClose} rule={rule} channel={channel} />
    </Modal>
  );
}

function Test({ onClose, rule, channel }: Omit<Props, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const fire = useMutation({
    mutationFn: () => {
      const id = Number((rule ?? channel)?.id);
      return rule
        ? post("/alerts/rules/{id}/test/", { params: { id } })
        : post("/alerts/channels/{id}/test/", { params: { id } });
    },
    onSettled: () => refresh(client, "/alerts/deliveries/"),
  });
  return (
    <Stack gap="sm">
      {fire.data ? <Came fired={fire.data} /> : <Text size="sm">{t("test.detail")}</Text>}
      {fire.isError && <ProblemAlert error={fire.error} isWrite />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {shared("action.close")}
        </Button>
        {!fire.data && (
          <Button loading={fire.isPending} onClick={() => fire.mutate()}>
            {t("test.send")}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

const TONES = { waiting: "info", sent: "ok", failed: "bad" } as const;

function Came({ fired }: { fired: components["schemas"]["TestFire"] }) {
  const t = useTexts();
  return (
    <Alert
      className={fired.is_complete ? "sb-ok" : "sb-warn"}
      styles={TONED}
      title={t(fired.is_complete ? "test.done" : "test.partly")}
      role="status"
    >
      {fired.deliveries.map((delivery) => (
        <Group key={delivery.id} gap="sm">
          <Text size="sm">{delivery.channel}</Text>
          <StateBadge tone={TONES[delivery.state]} label={t(`deliveries.state.${delivery.state}`)} />
          <Text size="sm" c="dimmed">
            {delivery.error}
          </Text>
        </Group>
      ))}
    </Alert>
  );
}
