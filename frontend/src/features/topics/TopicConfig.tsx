/** What each broker has of a topic, asked now: where brokers differ, it shows. */
import { Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useGet } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { CONFIG, type TopicSpec } from "./EditTopic";
import { useTexts } from "./texts";
import { permWord } from "./topic";

type Outcome = components["schemas"]["BrokerOutcome"];
type Route = components["schemas"]["Route"];

interface RouteMember {
  member: number;
  address: string;
  role: string;
  is_reachable: boolean;
}

export function TopicConfig({ cluster, topic }: { cluster: string; topic: string }) {
  const t = useTexts();
  const config = useGet(CONFIG, { params: { cluster, topic } });
  const routes = useGet("/clusters/{cluster}/topics/{topic}/routes/", { params: { cluster, topic } });
  return (
    <Panel
      title={t("config.title")}
      aside={
        <Text size="xs" c="dimmed">
          {t("config.asked")}
        </Text>
      }
    >
      {config.isError && <ProblemAlert error={config.error} onRetry={() => void config.refetch()} />}
      {config.isPending && <Skeleton height={120} />}
      {config.data && (
        <Table.ScrollContainer minWidth={640}>
          <Table verticalSpacing={6} aria-label={t("config.label", { topic })}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("config.broker")}</Table.Th>
                <Table.Th ta="right">{t("config.read")}</Table.Th>
                <Table.Th ta="right">{t("config.write")}</Table.Th>
                <Table.Th>{t("config.perm")}</Table.Th>
                <Table.Th>{t("config.ordered")}</Table.Th>
                <Table.Th>{t("config.attributes")}</Table.Th>
                <Table.Th>{t("config.members")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {config.data.brokers.map((broker) => (
                <BrokerRow
                  key={broker.broker}
                  outcome={broker}
                  route={routes.data?.routes.find((route) => route.broker === broker.broker)}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Panel>
  );
}

function BrokerRow({ outcome, route }: { outcome: Outcome; route: Route | undefined }) {
  const t = useTexts();
  const shared = useShared();
  const spec = outcome.read_back as TopicSpec | null;
  if (!outcome.ok || spec === null) {
    return (
      <Table.Tr>
        <Table.Td>{outcome.broker}</Table.Td>
        <Table.Td colSpan={6}>
          <Text size="sm" c="dimmed">
            {outcome.ok ? t("config.missing") : `${t("config.silent")}: ${outcome.detail}`}
          </Text>
        </Table.Td>
      </Table.Tr>
    );
  }
  return (
    <Table.Tr>
      <Table.Td>{outcome.broker}</Table.Td>
      <Table.Td ta="right">{spec.read_queues}</Table.Td>
      <Table.Td ta="right">{spec.write_queues}</Table.Td>
      <Table.Td>{t(`perm.${permWord(spec.perm)}`)}</Table.Td>
      <Table.Td>{shared(spec.is_ordered ? "yes" : "no")}</Table.Td>
      <Table.Td>
        <Group gap={4}>
          {Object.entries(spec.attributes).map(([name, value]) => (
            <Tag key={name}>{`${name}=${value}`}</Tag>
          ))}
        </Group>
      </Table.Td>
      <Table.Td>
        <Members route={route} />
      </Table.Td>
    </Table.Tr>
  );
}

function Members({ route }: { route: Route | undefined }) {
  const t = useTexts();
  if (!route) return null;
  return (
    <Stack gap={2}>
      {!route.has_reachable_master && <StateBadge state="down" label={t("config.noMaster")} />}
      {(route.members as RouteMember[]).map((member) => (
        <Group key={member.member} gap={6} wrap="nowrap">
          <StateBadge
            state={member.is_reachable ? "ok" : "down"}
            label={member.role || String(member.member)}
          />
          <span className="sb-mono">{member.address}</span>
        </Group>
      ))}
    </Stack>
  );
}
