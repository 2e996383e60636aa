/** One member: what it is, what it holds, how fast its listener is. */
import { Box, Button, Group as Row, Table, Text } from "@mantine/core";
import { IconStack3 } from "@tabler/icons-react";
import { formatMilliseconds } from "@/shared/format/durations";
import { useLocale } from "@/shared/texts/i18n";
import { CopyButton } from "@/shared/ui/CopyButton";
import { Count, Rate } from "@/shared/ui/Figure";
import { IfMay } from "@/shared/ui/IfMay";
import { KeyValue } from "@/shared/ui/KeyValue";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { byTopic, type Member, rangesOf, versionName } from "./group";
import classes from "./Members.module.css";
import { useTexts } from "./texts";

interface TopicRates {
  consume_ms: number;
  ok_per_s: number;
  failed_per_s: number;
}

interface Props {
  member: Member;
  cluster: string;
  group: string;
  onStack: () => void;
}

export function MemberCard({ member, cluster, group, onStack }: Props) {
  const t = useTexts();
  return (
    <Box className="sb-panel" p="sm">
      <Row justify="space-between" gap="sm" mb={6}>
        <Row gap={6} miw={0}>
          <Text fw={600} className="sb-mono" style={{ overflowWrap: "anywhere" }}>
            {member.client_id}
          </Text>
          <CopyButton value={member.client_id} name={member.client_id} />
          <Tag>{member.language}</Tag>
          <Tag>{versionOf(member)}</Tag>
          <Tag>{member.protocol}</Tag>
          {member.consume_type === "CONSUME_POP" && <Tag tone="info">{t("member.pop")}</Tag>}
        </Row>
        <IfMay role="operator" cluster={cluster} name={group}>
          <Button variant="default" leftSection={<IconStack3 size={14} />} onClick={onStack}>
            {t("member.stack")}
          </Button>
        </IfMay>
      </Row>
      <KeyValue
        items={[
          [
            t("member.address"),
            <span key="address" className="sb-mono">
              {member.address}
            </span>,
          ],
          [t("member.cached"), <Cached key="cached" member={member} />],
          [t("member.lastConsume"), <LastConsume key="last" member={member} />],
        ]}
      />
      <Assigned member={member} />
      <Rates member={member} />
    </Box>
  );
}

function versionOf(member: Member): string {
  const told = (member.properties as Record<string, string> | null)?.PROP_CLIENT_VERSION;
  return told ? told.replace(/^V/, "").replaceAll("_", ".") : versionName(member.version);
}

function Silent({ member }: { member: Member }) {
  const t = useTexts();
  return <Unknown why={`${t("member.silent")}: ${member.detail}`} />;
}

/** By topic: what it wants of it, and which queues of each broker it holds. */
function Assigned({ member }: { member: Member }) {
  const t = useTexts();
  const wanted = new Map((member.subscriptions ?? []).map((one) => [one.topic, one.expression]));
  const held = new Map<string, Map<string, number[]>>([...wanted.keys()].map((topic) => [topic, new Map()]));
  for (const { topic, broker, queue } of member.queues ?? []) {
    const brokers = held.get(topic) ?? new Map<string, number[]>();
    held.set(topic, brokers.set(broker, [...(brokers.get(broker) ?? []), queue]));
  }
  const topics = [...held].map(([topic, brokers]) => ({ topic, brokers })).sort(byTopic);
  return (
    <Table.ScrollContainer minWidth={420} mt={6}>
      <Table verticalSpacing={3} aria-label={t("member.assigned")}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("topic.name")}</Table.Th>
            <Table.Th>{t("topic.expression")}</Table.Th>
            <Table.Th>{t("member.assigned")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {topics.map(({ topic, brokers }) => (
            <Table.Tr key={topic}>
              <Table.Td>{topic}</Table.Td>
              <Table.Td>
                {wanted.has(topic) ? (
                  <span className="sb-mono">{wanted.get(topic)}</span>
                ) : (
                  <Silent member={member} />
                )}
              </Table.Td>
              <Table.Td>
                {member.queues === null ? <Silent member={member} /> : <Held brokers={brokers} />}
              </Table.Td>
            </Table.Tr>
          ))}
          {topics.length === 0 && (
            <Table.Tr>
              <Table.Td colSpan={3}>
                {member.queues === null ? <Silent member={member} /> : t("member.none")}
              </Table.Td>
            </Table.Tr>
          )}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Held({ brokers }: { brokers: Map<string, number[]> }) {
  const t = useTexts();
  if (brokers.size === 0) return t("member.none");
  return (
    <Row gap="md">
      {[...brokers]
        .sort(([left], [right]) => (left < right ? -1 : 1))
        .map(([broker, queues]) => (
          <span key={broker}>
            {broker} <b>{rangesOf(queues)}</b>
          </span>
        ))}
    </Row>
  );
}

function Cached({ member }: { member: Member }) {
  const t = useTexts();
  if (member.queues === null) return <Silent member={member} />;
  const acks = member.queues.reduce((sum, queue) => sum + (queue.waiting_acks ?? 0), 0);
  const cached = member.queues.reduce((sum, queue) => sum + (queue.cached_messages ?? 0), 0);
  return (
    <>
      <Count value={cached} /> {acks > 0 && t("member.waitingAcks", { count: acks })}
    </>
  );
}

function LastConsume({ member }: { member: Member }) {
  if (member.queues === null) return <Silent member={member} />;
  const last = member.queues.reduce((most, queue) => {
    const at = Number(queue.last_consume_ms ?? 0);
    return at > most ? at : most;
  }, 0);
  return <RelativeTime at={last > 0 ? new Date(last).toISOString() : null} missing="never" />;
}

function Rates({ member }: { member: Member }) {
  const t = useTexts();
  const locale = useLocale();
  const rates = Object.entries((member.rates ?? {}) as Record<string, TopicRates>);
  if (rates.length === 0) return null;
  return (
    <ul className={classes.rates}>
      {rates.map(([topic, rate]) => (
        <li key={topic}>
          <span className={classes.topic}>{topic}</span>
          <span>
            {t("member.ok")} <Rate value={rate.ok_per_s} />
          </span>
          <span className={rate.failed_per_s > 0 ? classes.failing : ""}>
            {t("member.failed")} <Rate value={rate.failed_per_s} />
          </span>
          <span>{`${t("member.took")} ${formatMilliseconds(rate.consume_ms, locale)}`}</span>
        </li>
      ))}
    </ul>
  );
}
