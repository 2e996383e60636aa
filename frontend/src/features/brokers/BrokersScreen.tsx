/** All brokers of a cluster: how each stands beside its group; settings of all of them side by side. */
import { Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { useBrokers } from "./broker_data";
import { MembersTable } from "./MembersTable";
import { NameServers } from "./NameServers";
import { brokersSearch } from "./search";
import { SettingsMatrix } from "./SettingsMatrix";
import { useTexts } from "./texts";

export function BrokersScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const { search, setSearch } = useSearchState(brokersSearch);
  const read = useBrokers(cluster);
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
        sampledAt={read.data && read.sampledAt}
      />
      <UrlTabs
        tabs={[
          ["members", t("tab.members")],
          ["config", t("tab.config")],
        ]}
        value={search.tab}
        onChange={(tab) => setSearch({ tab, search: "" })}
      >
        {search.tab === "members" ? (
          <Stack gap="md">
            <MembersTable cluster={cluster} read={read} />
            <NameServers servers={read.data?.name_servers} />
          </Stack>
        ) : (
          <SettingsMatrix
            cluster={cluster}
            search={search.search}
            show={search.show}
            onChange={(changes) => setSearch(changes)}
          />
        )}
      </UrlTabs>
    </Page>
  );
}
