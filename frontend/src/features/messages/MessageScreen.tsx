/** One message: where it lies, its body, its properties, what became of it. */
import { Button, Group, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconListNumbers, IconSend } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { addressOf } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { formatExactTime } from "@/shared/format/times";
import { BodyViewer } from "@/shared/message/BodyViewer";
import { KeysCell, type Message, TagCell } from "@/shared/message/cells";
import { Properties } from "@/shared/message/Properties";
import { Id } from "@/shared/message/SentView";
import { useTexts as useMessageTexts } from "@/shared/message/texts";
import { useLocale } from "@/shared/texts/i18n";
import { Bytes } from "@/shared/ui/Figure";
import { IfMay } from "@/shared/ui/IfMay";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { PageSkeleton } from "@/shared/ui/PageSkeleton";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { Resend } from "./Resend";
import { Reveal, RevealedNote } from "./Reveal";
import { messageSearch } from "./search";
import { useTexts } from "./texts";
import { TraceView } from "./TraceView";

export function MessageScreen() {
  const t = useTexts();
  const { cluster = "", id = "" } = useParams({ strict: false });
  const { search } = useSearchState(messageSearch);
  const read = useGet(
    "/clusters/{cluster}/messages/{id}/",
    { params: { cluster, id } },
    // What is stored does not change, and every read is noted.
    { staleTime: Infinity },
  );
  const crumbs = [
    { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
    {
      label: t("title"),
      link: {
        to: "/clusters/$cluster/messages",
        params: { cluster },
        search: { topic: search.topic || undefined },
      },
    },
  ] as const;
  if (read.data) return <Shown key={id} cluster={cluster} stored={read.data} crumbs={crumbs} />;
  return (
    <Page>
      <PageHeader title={t("message.title")} crumbs={crumbs} />
      {read.isError ? (
        <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <PageSkeleton />
      )}
    </Page>
  );
}

type Crumbs = Parameters<typeof PageHeader>[0]["crumbs"];

function Shown({ cluster, stored, crumbs }: { cluster: string; stored: Message; crumbs: Crumbs }) {
  const t = useTexts();
  const { search, setSearch } = useSearchState(messageSearch);
  const [revealed, setRevealed] = useState<Message | null>(null);
  const [isResending, resending] = useDisclosure(false);
  const message = revealed ?? stored;
  const tabs = (["body", "properties", "trace"] as const).map(
    (tab) => [tab, t(`message.tab.${tab}`)] as const,
  );
  const reveal = stored.is_masked && !revealed && (
    <Reveal cluster={cluster} id={stored.offset_id} onRevealed={setRevealed} />
  );
  return (
    <Page>
      <PageHeader
        title={t("message.title")}
        crumbs={crumbs}
        badges={<Tag>{message.topic}</Tag>}
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconListNumbers size={14} />}
              renderRoot={(props) => (
                <Link
                  to="/clusters/$cluster/messages"
                  params={{ cluster }}
                  search={{
                    tab: "queue",
                    topic: message.topic,
                    broker: message.broker,
                    queue: String(message.queue),
                    offset: message.queue_offset,
                  }}
                  {...props}
                />
              )}
            >
              {t("message.neighbours")}
            </Button>
            <IfMay role="operator" cluster={cluster} name={message.origin_topic}>
              <Button leftSection={<IconSend size={14} />} onClick={resending.open}>
                {t("message.resend")}
              </Button>
            </IfMay>
          </>
        }
      />
      <Stack gap="md">
        <Facts message={message} />
        {revealed && <RevealedNote />}
        <UrlTabs tabs={tabs} value={search.tab} onChange={(tab) => setSearch({ tab })}>
          {search.tab === "body" && (
            <BodyViewer
              body={message.body}
              href={addressOf(
                "/clusters/{cluster}/messages/{id}/",
                { cluster, id: message.offset_id },
                { full: true },
              )}
              fileName={`${message.offset_id}.bin`}
              isMasked={message.is_masked}
              reveal={reveal}
            />
          )}
          {search.tab === "properties" && (
            <Panel>
              <Group justify="flex-end">{reveal}</Group>
              <Properties properties={message.properties} />
            </Panel>
          )}
          {search.tab === "trace" && (
            <TraceView cluster={cluster} topic={message.origin_topic} msgId={message.msg_id} />
          )}
        </UrlTabs>
      </Stack>
      <Resend cluster={cluster} message={message} opened={isResending} onClose={resending.close} />
    </Page>
  );
}

function Facts({ message }: { message: Message }) {
  const t = useTexts();
  const m = useMessageTexts();
  const locale = useLocale();
  const place = { broker: message.broker, queue: message.queue, offset: message.queue_offset };
  const isElsewhere = message.origin_topic !== message.topic;
  const born =
    message.born_at &&
    t("message.bornAt", { time: formatExactTime(message.born_at, locale), host: message.born_host });
  return (
    <Panel>
      <KeyValue
        items={[
          [t("message.msgId"), <Id key="id" value={message.msg_id} name={t("message.msgId")} />],
          [t("message.offsetId"), <Id key="at" value={message.offset_id} name={t("message.offsetId")} />],
          isElsewhere ? [t("message.origin"), message.origin_topic] : null,
          [t("message.place"), m("place", place)],
          [t("message.stored"), message.stored_at ? formatExactTime(message.stored_at, locale) : <Unknown />],
          [t("message.born"), born || <Unknown />],
          [t("message.tag"), message.tags ? <TagCell tag={message.tags} /> : m("noTag")],
          [t("message.keys"), message.keys.length > 0 ? <KeysCell keys={message.keys} /> : m("noKeys")],
          [
            t("message.size"),
            <span key="size">
              <Bytes value={message.size} /> {message.is_compressed && <Tag>{t("message.compressed")}</Tag>}
            </span>,
          ],
          [t("message.tries"), String(message.reconsume_times)],
        ]}
      />
    </Panel>
  );
}
