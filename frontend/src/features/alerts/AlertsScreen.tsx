/** Alerts of a cluster: what fires, what fired, rules, silences, channels and what they were told. */
import { useParams } from "@tanstack/react-router";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { AlertsTab } from "./AlertsTab";
import { ChannelsTab } from "./ChannelsTab";
import { DeliveriesTab } from "./DeliveriesTab";
import { HistoryTab } from "./HistoryTab";
import { RulesTab } from "./RulesTab";
import { alertsSearch, TABS } from "./search";
import { SilencesTab } from "./SilencesTab";
import { useTexts } from "./texts";

export function AlertsScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const { search, setSearch } = useSearchState(alertsSearch);
  const tabs = TABS.map((tab) => [tab, t(`tab.${tab}`)] as const);
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
      />
      <UrlTabs
        tabs={tabs}
        value={search.tab}
        onChange={(tab) => setSearch({ tab, page: 1 }, { replace: false })}
        fill
      >
        {search.tab === "open" && <AlertsTab cluster={cluster} />}
        {search.tab === "history" && <HistoryTab cluster={cluster} search={search} setSearch={setSearch} />}
        {search.tab === "rules" && <RulesTab cluster={cluster} />}
        {search.tab === "silences" && <SilencesTab cluster={cluster} />}
        {search.tab === "channels" && <ChannelsTab />}
        {search.tab === "deliveries" && <DeliveriesTab search={search} setSearch={setSearch} />}
      </UrlTabs>
    </Page>
  );
}
