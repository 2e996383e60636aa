/** Where clusters come from: created on hosts, attached, or restored. */
import { IconLock } from "@tabler/icons-react";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { AttachForm } from "./make/AttachForm";
import { CreateWizard } from "./make/CreateWizard";
import { RestoreList } from "./make/RestoreList";
import { newClusterSearch } from "./search";
import { useTexts } from "./texts";

export function NewClusterScreen() {
  const t = useTexts();
  const { session } = useRights();
  const { search, setSearch } = useSearchState(newClusterSearch);
  // Which names somebody may use is the API's to say; without any administrator's grant there is nothing to ask.
  const isAdmin = session?.grants.some((grant) => grant.role === "admin" && grant.names === "*") ?? true;
  return (
    <Page>
      <PageHeader title={t("make.title")} crumbs={[{ label: t("make.fleet"), link: { to: "/" } }]} />
      {isAdmin ? (
        <UrlTabs
          tabs={[
            ["create", t("make.way.create")],
            ["attach", t("make.way.attach")],
            ["restore", t("make.way.restore")],
          ]}
          value={search.way}
          onChange={(way) => setSearch({ way })}
        >
          {search.way === "create" && <CreateWizard draft={search} setDraft={setSearch} />}
          {search.way === "attach" && <AttachForm />}
          {search.way === "restore" && <RestoreList />}
        </UrlTabs>
      ) : (
        <EmptyState icon={<IconLock size={28} />} title={t("make.noRight")}>
          {t("make.noRightDetail")}
        </EmptyState>
      )}
    </Page>
  );
}
