/** One member: what it is, what it holds, how fast its listener is. */
import { Box, Button, Group as Row, Text } from "@mantine/core";
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
import { type Member, rangesOf, versionName } from "./group";
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
            <span key="a" className="sb-mono">
              {member.address}
            </span>,
          ],
          [t("member.assigned"), <Assigned key="q" member={member} />],
          [t("member.cached"), <Cached key="c" member={member} />],
          [t("member.lastConsume"), <LastConsume key="l" member={member} />],
          [t("member.subscriptions"), <Subscriptions key="s" member={member} />],
        ]}
      />
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

function Assigned({ member }: { member: Member }) {
  const t = useTexts();
  if (member.queues === null) return <Silent member={member} />;
  if (member.queues.length === 0) return t("member.none");
  const places = new Map<string, { topic: string; broker: string; queues: number[] }>();
  for (const { topic, broker, queue } of member.queues) {
    const key = `${topic}\n${broker}`;
    const place = places.get(key) ?? { topic, broker, queues: [] };
    place.queues.push(queue);
    places.set(key, place);
  }
  return [...places.values()].map(({ topic, broker, queues }) => (
    <div key={topic + broker}>{t("member.range", { topic, broker, queues: rangesOf(queues) })}</div>
  ));
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

function Subscriptions({ member }: { member: Member }) {
  if (member.subscriptions === null) return <Silent member={member} />;
  return member.subscriptions.map((one) => (
    <div key={one.topic}>
      {one.topic} <span className="sb-mono">{one.expression}</span>
    </div>
  ));
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
