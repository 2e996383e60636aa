/** Profile, tokens, people and roles. */
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useRights } from "@/shared/session/session";
import { useSearchState } from "@/shared/url/use_search";
import { ProfileTab } from "./ProfileTab";
import { settingsSearch } from "./search";
import { useTexts } from "./texts";
import { TokensTab } from "./TokensTab";
import { UsersTab } from "./UsersTab";

export function SettingsScreen() {
  const t = useTexts();
  const { search, setSearch } = useSearchState(settingsSearch);
  const isAdmin = useRights().may("admin");
  const names = isAdmin ? (["profile", "tokens", "users"] as const) : (["profile", "tokens"] as const);
  const tab = search.tab === "users" && !isAdmin ? "profile" : search.tab;
  return (
    <Page>
      <PageHeader title={t("title")} />
      <UrlTabs
        tabs={names.map((name) => [name, t(`tab.${name}`)] as const)}
        value={tab}
        onChange={(next) => setSearch({ tab: next, search: "", user: "" }, { replace: false })}
      >
        {tab === "profile" && <ProfileTab />}
        {tab === "tokens" && <TokensTab />}
        {tab === "users" && <UsersTab />}
      </UrlTabs>
    </Page>
  );
}
