/** A broker group: who is master, who is in sync with it, how far behind the others are. */
import { Alert, Stack, Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Bytes, Count } from "@/shared/ui/Figure";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Panel } from "@/shared/ui/Panel";
import { TONED } from "@/shared/ui/plan_views";
import { StateBadge } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { BrokerState, InSync, permissionOf, RoleTag } from "./BrokerBadges";
import type { Broker } from "./broker_data";
import { haOf, masterOf, standingOf } from "./broker_state";
import { useTexts } from "./texts";

export function ReplicationTab({ cluster, members }: { cluster: string; members: readonly Broker[] }) {
  const t = useTexts();
  const master = masterOf(members);
  const ha = haOf(master?.live ?? null);
  const name = members[0]?.broker_name ?? "";
  const writes = master ? permissionOf(master) : null;
  return (
    <Stack gap="md">
      {master === undefined && (
        <Alert className="sb-bad" styles={TONED}>
          {t("ha.noMaster")}
        </Alert>
      )}
      <Panel title={t("ha.title", { name })}>
        <KeyValue
          items={[
            [t("ha.master"), master?.label ?? <Unknown key="master" />],
            [t("ha.epoch"), <Count key="epoch" value={ha.epoch} />],
            [
              t("ha.min"),
              ha.minInSync === undefined ? <Unknown key="min" /> : t("ha.minNote", { count: ha.minInSync }),
            ],
            [
              t("writes.state"),
              writes === null ? (
                <Unknown key="writes" />
              ) : (
                <StateBadge
                  key="writes"
                  tone={writes === "writable" ? "ok" : "warn"}
                  label={t(`writes.${writes}`)}
                />
              ),
            ],
          ]}
        />
      </Panel>
      <Panel flush>
        <Table.ScrollContainer minWidth={560}>
          <Table verticalSpacing={6} horizontalSpacing="md">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("ha.member")}</Table.Th>
                <Table.Th>{t("column.role")}</Table.Th>
                <Table.Th>{t("column.state")}</Table.Th>
                <Table.Th>{t("column.inSync")}</Table.Th>
                <Table.Th ta="right">{t("column.behind")}</Table.Th>
                <Table.Th ta="right">{t("column.epoch")}</Table.Th>
                <Table.Th>{t("column.address")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {members.map((member) => (
                <MemberLine key={member.label} cluster={cluster} member={member} members={members} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Panel>
    </Stack>
  );
}

interface LineProps {
  cluster: string;
  member: Broker;
  members: readonly Broker[];
}

function MemberLine({ cluster, member, members }: LineProps) {
  const t = useTexts();
  const standing = standingOf(member, members);
  const own = haOf(member.live);
  return (
    <Table.Tr>
      <Table.Td fw={550}>
        <Link
          to="/clusters/$cluster/brokers/$broker"
          params={{ cluster, broker: member.label }}
          search={{ tab: "replication" }}
        >
          {member.label}
        </Link>
      </Table.Td>
      <Table.Td>
        <RoleTag broker={member} standing={standing} />
      </Table.Td>
      <Table.Td>
        <BrokerState broker={member} />
        {own.trouble && <div>{own.trouble}</div>}
      </Table.Td>
      <Table.Td>
        <InSync standing={standing} size={members.length} inSync={own.inSync} min={own.minInSync} />
      </Table.Td>
      <Table.Td ta="right">{standing.isMaster ? null : <Bytes value={standing.behind} />}</Table.Td>
      <Table.Td ta="right">
        <Count value={member.live?.epoch} />
      </Table.Td>
      <Table.Td className="sb-mono">
        {member.address}
        {own.master && !standing.isMaster && (
          <div className="sb-stale">{t("ha.followed", { address: own.master })}</div>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
