/** One cluster: how it stands, its live routing map, its history, what is set about it. */
import { Alert, Text, Tooltip } from "@mantine/core";
import { IconProgress } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { PageSkeleton } from "@/shared/ui/PageSkeleton";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useNow } from "@/shared/ui/use_now";
import { useSearchState } from "@/shared/url/use_search";
import { ChangeMenu } from "./changes/ChangeMenu";
import { type Cluster, type LiveRow, useCluster, useClusterLive } from "./cluster_data";
import classes from "./Cluster.module.css";
import { FiringAlerts } from "./FiringAlerts";
import { healthOf } from "./health";
import { HistoryTab } from "./HistoryTab";
import { MapPanel } from "./map/MapPanel";
import { clusterSearch } from "./search";
import { SettingsTab } from "./SettingsTab";
import { useTexts } from "./texts";
import { Tiles } from "./Tiles";

export function ClusterScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const { search, setSearch } = useSearchState(clusterSearch);
  const read = useCluster(cluster);
  const live = useClusterLive(cluster);
  if (read.data === undefined) {
    const failed = read.error && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />;
    return <Page>{failed ?? <PageSkeleton />}</Page>;
  }
  return (
    <Page>
      <PageHeader
        title={cluster}
        crumbs={[{ label: t("make.fleet"), link: { to: "/" } }]}
        badges={<Badges cluster={read.data} rows={live.brokers} />}
        sampledAt={live.brokers && live.sampledAt}
        actions={<ChangeMenu cluster={read.data} />}
      />
      <OpenOperation id={read.data.open_operation} />
      <FiringAlerts cluster={cluster} />
      <Tiles cluster={cluster} totals={live.totals} rows={live.brokers} sampledAt={live.sampledAt} />
      <div className={classes.body} data-tab={search.tab}>
        <UrlTabs
          tabs={[
            ["map", t("tab.map")],
            ["history", t("tab.history")],
            ["settings", t("tab.settings")],
          ]}
          value={search.tab}
          onChange={(tab) => setSearch({ tab })}
        >
          {search.tab === "map" && (
            <MapPanel cluster={cluster} brokers={live.brokers} search={search} setSearch={setSearch} />
          )}
          {search.tab === "history" && (
            <HistoryTab cluster={cluster} range={search.range} onRange={(range) => setSearch({ range })} />
          )}
          {search.tab === "settings" && <SettingsTab cluster={read.data} />}
        </UrlTabs>
      </div>
    </Page>
  );
}

function Badges({ cluster, rows }: { cluster: Cluster; rows: LiveRow[] | undefined }) {
  const t = useTexts();
  const now = useNow();
  const judged = healthOf(rows ?? [], now);
  const why = judged.why && t(`healthWhy.${judged.why}`, judged.words);
  return (
    <>
      <StateBadge state={judged.health} label={t(`health.${judged.health}`)} why={why} />
      {judged.health !== "ok" && why && rows !== undefined && (
        <Text size="xs" c="dimmed" className={classes.why}>
          {why}
        </Text>
      )}
      <Tooltip label={t(`kindWhy.${cluster.kind}`)}>
        <span>
          <Tag>{t(`kind.${cluster.kind}`)}</Tag>
        </span>
      </Tooltip>
      {cluster.kind === "managed" && (
        <Tooltip label={t(`profile.${cluster.profile}Loss`)}>
          <span>
            <Tag>{t(`profile.${cluster.profile}`)}</Tag>
          </span>
        </Tooltip>
      )}
      {Object.entries(cluster.labels).map(([name, value]) => (
        <Tag key={name}>{`${name}=${value}`}</Tag>
      ))}
    </>
  );
}

function OpenOperation({ id }: { id: string | null }) {
  const t = useTexts();
  if (id === null) return null;
  return (
    <Alert className="sb-info" styles={TONED} mb="sm" py={6} icon={<IconProgress size={18} />}>
      {t("openOperation")}{" "}
      <Link to="/operations/$id" params={{ id }}>
        {t("openOperationLink")}
      </Link>
    </Alert>
  );
}
