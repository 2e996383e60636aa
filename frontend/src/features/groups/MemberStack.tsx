/** Where every thread of one member stands: first where its listeners are, then all of them. */
import {
  Alert,
  Box,
  Button,
  Checkbox,
  Group as Row,
  List,
  Modal,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { CopyButton } from "@/shared/ui/CopyButton";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import classes from "./Members.module.css";
import { useTexts } from "./texts";

type StackAnswer = components["schemas"]["Stack"];
type Thread = components["schemas"]["Thread"];

interface Stand {
  call: string;
  count: number;
  state: string;
}

interface Props {
  cluster: string;
  group: string;
  client: string;
  onClose: () => void;
}

export function MemberStack({ cluster, group, client, onClose }: Props) {
  const t = useTexts();
  const take = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/groups/{group}/members/{client_id}/stack/", {
        params: { cluster, group, client_id: client },
      }),
  });
  return (
    <Modal opened onClose={onClose} title={t("member.stackOf", { client })} size="xl">
      <Stack gap="sm">
        <Row justify="space-between">
          <Text size="sm" c="dimmed">
            {t("stack.lead")}
          </Text>
          <Button loading={take.isPending} onClick={() => take.mutate()} data-autofocus>
            {t("stack.take")}
          </Button>
        </Row>
        {take.isError && <ProblemAlert error={take.error} />}
        {take.data && <Taken stack={take.data} />}
      </Stack>
    </Modal>
  );
}

function Taken({ stack }: { stack: StackAnswer }) {
  const t = useTexts();
  const stands = stack.listeners_stand_in as Stand[];
  return (
    <>
      <Alert className={stands.length > 0 ? "sb-info" : "sb-ok"} styles={TONED} title={t("stack.standing")}>
        {stands.length === 0 ? (
          t("stack.idle")
        ) : (
          <List size="sm">
            {stands.map((stand) => (
              <List.Item key={stand.call + stand.state}>
                <span className="sb-mono">{stand.call}</span>{" "}
                <Text span size="xs" c="dimmed">
                  {t("stack.standLine", { count: stand.count, state: stand.state })}
                </Text>
              </List.Item>
            ))}
          </List>
        )}
      </Alert>
      <Threads threads={stack.threads} />
    </>
  );
}

const textOf = (thread: Thread) =>
  `${thread.name} ${thread.state}\n${thread.frames.map((frame) => `  ${frame}`).join("\n")}`;

function Threads({ threads }: { threads: readonly Thread[] }) {
  const t = useTexts();
  const [part, setPart] = useState("");
  const [isListeners, setListeners] = useState(threads.some((thread) => thread.is_listener));
  const wanted = part.toLowerCase();
  const shown = threads.filter(
    (thread) =>
      (!isListeners || thread.is_listener) &&
      (wanted === "" || textOf(thread).toLowerCase().includes(wanted)),
  );
  return (
    <Box>
      <Row gap="sm" mb="xs">
        <TextInput
          aria-label={t("stack.filter")}
          placeholder={t("stack.filter")}
          value={part}
          onChange={(event) => setPart(event.currentTarget.value)}
        />
        <Checkbox
          label={t("stack.listenersOnly")}
          checked={isListeners}
          onChange={(event) => setListeners(event.currentTarget.checked)}
        />
        <CopyButton value={threads.map(textOf).join("\n\n")} name={t("stack.copy")} />
      </Row>
      {shown.length === 0 && <Text size="sm">{t("stack.none")}</Text>}
      {shown.map((thread, number) => (
        <div key={number} className={classes.thread}>
          <Row gap={6}>
            <Text size="sm" fw={600}>
              {thread.name}
            </Text>
            <Tag tone={thread.state === "BLOCKED" ? "bad" : "quiet"}>{thread.state}</Tag>
            {thread.is_listener && <Tag tone="info">{t("stack.listener")}</Tag>}
            {thread.is_idle && <Tag tone="ok">{t("stack.waits")}</Tag>}
          </Row>
          <div className={classes.frames}>{thread.frames.join("\n")}</div>
        </div>
      ))}
    </Box>
  );
}
