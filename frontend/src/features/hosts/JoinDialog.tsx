/** How a machine becomes a host: a token that is shown once, and the commands to run there. */
import {
  Alert,
  Button,
  Group,
  List,
  Loader,
  Modal,
  NumberInput,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { useShared } from "@/shared/texts/shared";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { Host } from "./HostsScreen";
import { useTexts } from "./texts";

interface Props {
  opened: boolean;
  onClose: () => void;
  hosts: readonly Host[];
}

type Invitation = Extract<Answer<"/hosts/", "post">, { token: string }>;

export function JoinDialog({ opened, onClose, hosts }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("join.title")} size="lg">
      <Joining onClose={onClose} hosts={hosts} />
    </Modal>
  );
}

function Joining({ onClose, hosts }: Omit<Props, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const [name, setName] = useState("");
  const [hours, setHours] = useState(24);
  const make = useMutation({
    mutationFn: () => post("/hosts/", { body: { name, valid_hours: hours } }) as Promise<Invitation>,
  });
  if (make.isSuccess) return <Commands invitation={make.data} hosts={hosts} onClose={onClose} />;
  const problem = make.isError ? asProblem(make.error) : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name !== "") make.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={t("join.name")}
          description={t("join.nameHint")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fieldError(problem, "name")}
          required
          data-autofocus
          spellCheck={false}
          autoComplete="off"
        />
        <NumberInput
          label={t("join.hours")}
          value={hours}
          min={1}
          max={720}
          onChange={(value) => setHours(Number(value) || 24)}
        />
        {problem && problem.of("name") === undefined && <ProblemAlert error={problem} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={make.isPending} disabled={name === ""}>
            {t("join.make")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface CommandsProps {
  invitation: Invitation;
  hosts: readonly Host[];
  onClose: () => void;
}

function Commands({ invitation, hosts, onClose }: CommandsProps) {
  const t = useTexts();
  const shared = useShared();
  const words = { name: invitation.name };
  const again = `manage.py agent --name ${invitation.name}`;
  const hasJoined = hosts.some((host) => host.name === invitation.name && !host.is_silent);
  return (
    <Stack gap="sm">
      <Alert className="sb-warn" styles={TONED}>
        {t("join.once", words)}
      </Alert>
      <List type="ordered" size="sm" spacing="xs" styles={{ itemWrapper: { display: "block" } }}>
        <List.Item>{t("join.step1")}</List.Item>
        <List.Item>
          {t("join.step2")}
          <CodeBlock code={invitation.command} label={t("join.command")} wrap />
        </List.Item>
        <List.Item>
          {t("join.step3")}
          <CodeBlock code={again} label={t("join.again")} wrap />
        </List.Item>
        <List.Item>{t("join.step4")}</List.Item>
      </List>
      <Group justify="space-between">
        {hasJoined ? (
          <StateBadge tone="ok" label={t("join.joined", words)} />
        ) : (
          <Group gap="xs" role="status">
            <Loader size="xs" />
            <Text size="sm">{t("join.waiting", words)}</Text>
          </Group>
        )}
        <Button onClick={onClose}>{shared("action.close")}</Button>
      </Group>
    </Stack>
  );
}
