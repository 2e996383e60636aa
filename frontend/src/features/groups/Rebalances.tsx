/** Who came and went, when: a strip of the members over time, and every event. */
import { Alert, Button, Group as Row, Skeleton, Stack, Text } from "@mantine/core";
import { IconMinus, IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Panel } from "@/shared/ui/Panel";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { ExactTime, RelativeTime } from "@/shared/ui/RelativeTime";
import { flappingOf, type Rebalance } from "./group";
import { MemberStrip } from "./MemberStrip";
import classes from "./Rebalances.module.css";
import { useTexts } from "./texts";

const SIZE = 100;

export function Rebalances({ cluster, group }: { cluster: string; group: string }) {
  const t = useTexts();
  const [offset, setOffset] = useState(0);
  const read = useGet(
    "/clusters/{cluster}/groups/{group}/rebalances/",
    { params: { cluster, group }, query: { limit: SIZE, offset } },
    { keepPrevious: true, refetchInterval: offset === 0 ? 5_000 : false },
  );
  const events = read.data?.results ?? [];
  const flapping = flappingOf(events);
  if (read.isPending) return <Skeleton height={200} />;
  return (
    <Stack gap="sm">
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {flapping !== null && (
        <Alert className="sb-warn" styles={TONED}>
          {t("rebalance.flapping", { count: flapping })}
        </Alert>
      )}
      <Panel
        title={t("rebalance.title")}
        aside={
          <Text size="xs" c="dimmed">
            {t("rebalance.count", { count: read.data?.count ?? 0 })}
          </Text>
        }
      >
        {events.length === 0 ? (
          <EmptyState title={t("rebalance.empty")} />
        ) : (
          <>
            <MemberStrip events={events} label={t("rebalance.strip")} />
            <ol className={classes.events} aria-label={t("rebalance.label", { group })}>
              {events.map((event) => (
                <EventLine key={event.at + event.member_count} event={event} />
              ))}
            </ol>
          </>
        )}
        <Row justify="flex-end" mt="sm">
          {offset > 0 && (
            <Button variant="default" onClick={() => setOffset(Math.max(0, offset - SIZE))}>
              {t("rebalance.newer")}
            </Button>
          )}
          {read.data?.next && (
            <Button variant="default" onClick={() => setOffset(offset + SIZE)}>
              {t("rebalance.more")}
            </Button>
          )}
        </Row>
      </Panel>
    </Stack>
  );
}

function EventLine({ event }: { event: Rebalance }) {
  const t = useTexts();
  return (
    <li className={classes.event}>
      <div className={classes.when}>
        <ExactTime at={event.at} />
        <Text size="xs" c="dimmed">
          <RelativeTime at={event.at} />
        </Text>
      </div>
      <div className={classes.who}>
        {(event.joined as string[]).map((client) => (
          <div key={`+${client}`} className="sb-ok">
            <IconPlus size={13} aria-label={t("rebalance.joined")} className={classes.mark} />
            <span className="sb-mono">{client}</span>
          </div>
        ))}
        {(event.left as string[]).map((client) => (
          <div key={`-${client}`} className="sb-bad">
            <IconMinus size={13} aria-label={t("rebalance.left")} className={classes.mark} />
            <span className="sb-mono">{client}</span>
          </div>
        ))}
      </div>
      <Text size="xs" c="dimmed" className={classes.after}>
        {t("rebalance.now", { count: event.member_count })}
      </Text>
    </li>
  );
}
