/** Who consumes: what each member holds, how it does, and where its threads stand. Asked now. */
import { Alert, Button, Group as Row, List, Skeleton, Stack, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { components } from "@/types/api.gen";
import { MemberCard } from "./MemberCard";
import { MemberStack } from "./MemberStack";
import { useTexts } from "./texts";

type Answer = components["schemas"]["Members"];

interface Differing {
  topic: string;
  members: Record<string, string | null>;
}

export function Members({ cluster, group }: { cluster: string; group: string }) {
  const t = useTexts();
  const [stackOf, setStackOf] = useState<string | null>(null);
  const read = useGet(
    "/clusters/{cluster}/groups/{group}/members/",
    { params: { cluster, group } },
    { staleTime: 10_000 },
  );
  return (
    <Stack gap="sm">
      <Row justify="space-between">
        <Text size="sm" c="dimmed">
          {t("member.asked")}
        </Text>
        <Button
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={read.isFetching}
          onClick={() => void read.refetch()}
        >
          {t("member.again")}
        </Button>
      </Row>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <Skeleton height={160} />}
      {read.data && <Answered data={read.data} cluster={cluster} group={group} onStack={setStackOf} />}
      {stackOf !== null && (
        <MemberStack cluster={cluster} group={group} client={stackOf} onClose={() => setStackOf(null)} />
      )}
    </Stack>
  );
}

interface AnsweredProps {
  data: Answer;
  cluster: string;
  group: string;
  onStack: (client: string) => void;
}

function Answered({ data, cluster, group, onStack }: AnsweredProps) {
  const t = useTexts();
  return (
    <>
      {!data.is_complete && (
        <Alert className="sb-warn" styles={TONED}>
          {t("member.partial")}
          <List size="sm">
            {data.brokers
              .filter((broker) => !broker.ok)
              .map((broker) => (
                <List.Item key={broker.broker}>{`${broker.broker}: ${broker.detail}`}</List.Item>
              ))}
          </List>
        </Alert>
      )}
      {data.differing_subscriptions.length > 0 && (
        <DifferingAlert rows={data.differing_subscriptions as Differing[]} />
      )}
      {data.members.length === 0 && data.is_complete && (
        <EmptyState title={t("member.empty")}>{t("member.emptyDetail")}</EmptyState>
      )}
      <Stack
        gap="sm"
        component="ul"
        aria-label={t("member.label", { group })}
        p={0}
        m={0}
        style={{ listStyle: "none" }}
      >
        {data.members.map((member) => (
          <li key={member.client_id}>
            <MemberCard
              member={member}
              cluster={cluster}
              group={group}
              onStack={() => onStack(member.client_id)}
            />
          </li>
        ))}
      </Stack>
    </>
  );
}

function DifferingAlert({ rows }: { rows: Differing[] }) {
  const t = useTexts();
  return (
    <Alert className="sb-bad" styles={TONED} title={t("member.differing")}>
      <Text size="sm">{t("member.differingDetail")}</Text>
      {rows.map((row) => (
        <div key={row.topic}>
          <b>{row.topic}</b>
          <List size="sm">
            {Object.entries(row.members).map(([client, expression]) => (
              <List.Item key={client}>
                {t("member.wants", { client, expression: expression ?? t("member.nothing") })}
              </List.Item>
            ))}
          </List>
        </div>
      ))}
    </Alert>
  );
}
