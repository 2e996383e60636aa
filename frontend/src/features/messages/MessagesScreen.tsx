/** Messages of a cluster: finding, browsing, following, searching in the background, sending. */
import { useParams } from "@tanstack/react-router";
import { useRights } from "@/shared/session/session";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { JobsTab } from "./JobsTab";
import { QueueTab } from "./QueueTab";
import { messagesSearch, TABS } from "./search";
import { SearchTab } from "./SearchTab";
import { SendTab } from "./SendTab";
import { TailTab } from "./TailTab";
import { useTexts } from "./texts";

export function MessagesScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const rights = useRights();
  const { search, setSearch } = useSearchState(messagesSearch);
  const maySend = rights.maySomewhere("operator", cluster);
  const tabs = TABS.filter((tab) => tab !== "send" || maySend).map((tab) => [tab, t(`tab.${tab}`)] as const);
  const props = { cluster, search, setSearch };
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
      />
      <UrlTabs tabs={tabs} value={search.tab} onChange={(tab) => setSearch({ tab }, { replace: false })} fill>
        {search.tab === "search" && <SearchTab {...props} />}
        {search.tab === "queue" && <QueueTab {...props} />}
        {search.tab === "tail" && <TailTab {...props} key={search.topic} />}
        {search.tab === "jobs" && <JobsTab {...props} />}
        {search.tab === "send" && <SendTab {...props} />}
      </UrlTabs>
    </Page>
  );
}
