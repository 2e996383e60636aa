/** One broker: what it does now, how its group replicates, its settings and its log. */
import { Button } from "@mantine/core";
import { IconServerOff } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { PageSkeleton } from "@/shared/ui/PageSkeleton";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { BrokerState, KeptMark, Marks, permissionOf, RoleTag } from "./BrokerBadges";
import { type Broker, useBrokers } from "./broker_data";
import { standingOf } from "./broker_state";
import { LogTab } from "./LogTab";
import { PromoteDialog } from "./PromoteDialog";
import { ReplicationTab } from "./ReplicationTab";
import { RuntimeTab } from "./RuntimeTab";
import { brokerSearch } from "./search";
import { SettingsMatrix } from "./SettingsMatrix";
import { useTexts } from "./texts";
import { WritesDialog } from "./WritesDialog";

export function BrokerScreen() {
  const t = useTexts();
  const { cluster = "", broker: label = "" } = useParams({ strict: false });
  const read = useBrokers(cluster);
  const broker = read.brokers?.find((one) => one.label === label);
  if (read.brokers === undefined) {
    const failed = read.error && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />;
    return <Page>{failed ?? <PageSkeleton />}</Page>;
  }
  if (broker === undefined) {
    return (
      <Page>
        <EmptyState icon={<IconServerOff size={28} />} title={t("one.notThere", { name: label })} />
      </Page>
    );
  }
  const members = read.brokers.filter((one) => one.broker_name === broker.broker_name);
  return <Shown cluster={cluster} broker={broker} members={members} sampledAt={read.sampledAt} />;
}

interface ShownProps {
  cluster: string;
  broker: Broker;
  members: readonly Broker[];
  sampledAt: string | null;
}

function Shown({ cluster, broker, members, sampledAt }: ShownProps) {
  const t = useTexts();
  const { may } = useRights();
  const { search, setSearch } = useSearchState(brokerSearch);
  const standing = standingOf(broker, members);
  const hasLog = broker.process !== null;
  return (
    <Page>
      <PageHeader
        title={broker.label}
        crumbs={[
          { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
          { label: t("title"), link: { to: "/clusters/$cluster/brokers", params: { cluster } } },
        ]}
        badges={
          <>
            <BrokerState broker={broker} />
            <RoleTag broker={broker} standing={standing} />
            <Marks broker={broker} />
            <KeptMark live={broker.live} />
          </>
        }
        sampledAt={broker.live?.sampled_at ?? sampledAt}
        actions={
          <Actions
            cluster={cluster}
            broker={broker}
            isMaster={standing.isMaster}
            hasSlaves={members.length > 1}
          />
        }
      />
      <UrlTabs
        tabs={[
          ["runtime", t("tab.runtime")],
          ["replication", t("tab.replication")],
          ["config", t("tab.settings")],
          ...(hasLog ? [["log", t("tab.log")] as const] : []),
        ]}
        value={search.tab}
        onChange={(tab) => setSearch({ tab, search: "" })}
      >
        {search.tab === "runtime" && (
          <RuntimeTab
            cluster={cluster}
            broker={broker}
            range={search.range}
            onRange={(range) => setSearch({ range })}
          />
        )}
        {search.tab === "replication" && <ReplicationTab cluster={cluster} members={members} />}
        {search.tab === "config" && (
          <SettingsMatrix
            cluster={cluster}
            broker={broker.label}
            search={search.search}
            show={search.show}
            onChange={(changes) => setSearch(changes)}
          />
        )}
        {search.tab === "log" && hasLog && (
          <LogTab
            cluster={cluster}
            process={broker.label}
            mayRead={may("operator", cluster)}
            {...{ kind: search.kind, lines: search.lines, search: search.search }}
            onChange={(changes) => setSearch(changes)}
          />
        )}
      </UrlTabs>
    </Page>
  );
}

interface ActionsProps {
  cluster: string;
  broker: Broker;
  isMaster: boolean;
  hasSlaves: boolean;
}

function Actions({ cluster, broker, isMaster }: ActionsProps) {
  const t = useTexts();
  const [asked, setAsked] = useState<"writes" | "promote" | null>(null);
  const isWritable = permissionOf(broker) !== "readOnly";
  return (
    <IfMay role="operator" cluster={cluster}>
      {isMaster && (
        <Button variant="default" onClick={() => setAsked("writes")}>
          {t(isWritable ? "writes.refuse" : "writes.allow")}
        </Button>
      )}
      {!isMaster && broker.process !== null && (
        <Button variant="default" onClick={() => setAsked("promote")}>
          {t("promote.open")}
        </Button>
      )}
      {asked === "writes" && (
        <WritesDialog
          cluster={cluster}
          group={broker.broker_name}
          isWritable={!isWritable}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === "promote" && (
        <PromoteDialog cluster={cluster} broker={broker} onClose={() => setAsked(null)} />
      )}
    </IfMay>
  );
}
