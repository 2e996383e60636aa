/** One dead letter beside the list: why, what it holds, and a way to send it again changed. */
import { Button, Drawer, Group, Skeleton, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconTimeline } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { addressOf } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { formatExactTime } from "@/shared/format/times";
import { BodyViewer } from "@/shared/message/BodyViewer";
import type { Message } from "@/shared/message/cells";
import { Properties } from "@/shared/message/Properties";
import { Id } from "@/shared/message/SentView";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { IfMay } from "@/shared/ui/IfMay";
import { KeyValue } from "@/shared/ui/KeyValue";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { EditAndResend } from "./EditAndResend";
import type { Letter } from "./LettersTab";
import { OutcomeBadge, type OutcomeState } from "./RedriveState";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  group: string;
  /** What the list knows of it, if it is on the page. */
  letter: Letter | undefined;
  /** Empty: nothing is open. */
  id: string;
  onClose: () => void;
}

export function LetterDrawer({ cluster, group, letter, id, onClose }: Props) {
  const t = useTexts();
  const shared = useShared();
  return (
    <Drawer
      opened={id !== ""}
      onClose={onClose}
      title={t("letter.title")}
      position="right"
      size="min(720px, 100%)"
      closeButtonProps={{ "aria-label": shared("action.close") }}
    >
      {id !== "" && <Shown cluster={cluster} group={group} letter={letter} id={id} />}
    </Drawer>
  );
}

function Shown({ cluster, group, letter, id }: Omit<Props, "onClose">) {
  const t = useTexts();
  const [isEditing, editing] = useDisclosure(false);
  const read = useGet(
    "/clusters/{cluster}/messages/{id}/",
    { params: { cluster, id } },
    { staleTime: Infinity },
  );
  const message = read.data;
  return (
    <Stack gap="md">
      <Group gap="xs">
        <IfMay role="operator" cluster={cluster} name={group}>
          <Button
            leftSection={<IconPencil size={14} />}
            onClick={editing.open}
            disabled={message === undefined}
          >
            {t("letter.edit")}
          </Button>
        </IfMay>
        <Button
          variant="default"
          leftSection={<IconTimeline size={14} />}
          renderRoot={(props) => (
            <Link
              to="/clusters/$cluster/messages/$id"
              params={{ cluster, id }}
              search={{ tab: "trace" }}
              {...props}
            />
          )}
        >
          {t("letter.trace")}
        </Button>
      </Group>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {message ? (
        <Content cluster={cluster} message={message} letter={letter} />
      ) : (
        !read.isError && <Skeleton height={240} />
      )}
      {message && (
        <EditAndResend
          cluster={cluster}
          group={group}
          message={message}
          opened={isEditing}
          onClose={editing.close}
        />
      )}
    </Stack>
  );
}

function Content({
  cluster,
  message,
  letter,
}: {
  cluster: string;
  message: Message;
  letter: Letter | undefined;
}) {
  const t = useTexts();
  const locale = useLocale();
  const reason = letter?.reason ?? null;
  const redriven = letter?.redriven ?? null;
  return (
    <>
      <KeyValue
        items={[
          [t("letter.id"), <Id key="id" value={message.msg_id} name={t("letter.id")} />],
          [t("letter.origin"), message.origin_topic],
          [t("letter.died"), message.stored_at ? formatExactTime(message.stored_at, locale) : <Unknown />],
          [t("letter.tries"), String(message.reconsume_times)],
          [
            t("letter.reason"),
            reason === null ? <Unknown why={t("why.reason")} /> : <Tag tone="bad">{reason}</Tag>,
          ],
          letter
            ? [
                t("letter.redriven"),
                redriven === null ? t("letter.never") : <OutcomeBadge state={redriven as OutcomeState} />,
              ]
            : null,
        ]}
      />
      <BodyViewer
        body={message.body}
        href={addressOf(
          "/clusters/{cluster}/messages/{id}/",
          { cluster, id: message.offset_id },
          { full: true },
        )}
        fileName={`${message.offset_id}.bin`}
        isMasked={message.is_masked}
      />
      <Properties properties={message.properties} />
    </>
  );
}
