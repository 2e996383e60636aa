/** Users and policies of a cluster's brokers, and whether somebody may do something. */
import { IconLockOff, IconShieldLock } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { asProblem } from "@/shared/api/problem";
import { useGet } from "@/shared/api/queries";
import { useRights, useSession } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { Explain } from "./Explain";
import { aclSearch } from "./search";
import { useTexts } from "./texts";
import { Users } from "./Users";

const USERS = "/clusters/{cluster}/acl/users/";

export function AclScreen() {
  const { cluster = "" } = useParams({ strict: false });
  const t = useTexts();
  const rights = useRights();
  const session = useSession();
  const { search, setSearch } = useSearchState(aclSearch);
  const isAdmin = rights.may("admin", cluster);
  // One read for list, drawer and suggestions: names are searched for here.
  const users = useGet(USERS, { params: { cluster } }, { enabled: isAdmin, staleTime: 15_000 });
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
      />
      {session.data && !isAdmin && (
        <EmptyState icon={<IconShieldLock size={28} />} title={t("noRights.title")}>
          {t("noRights.detail")}
        </EmptyState>
      )}
      {isAdmin && isOff(users.error) && (
        <EmptyState icon={<IconLockOff size={28} />} title={t("off.title")}>
          {t("off.detail")}
        </EmptyState>
      )}
      {isAdmin && !isOff(users.error) && (
        <UrlTabs
          tabs={(["users", "explain"] as const).map((tab) => [tab, t(`tab.${tab}`)] as const)}
          value={search.tab}
          onChange={(tab) => setSearch({ tab })}
          fill
        >
          {search.tab === "users" ? (
            <Users cluster={cluster} read={users} search={search} setSearch={setSearch} />
          ) : (
            <Explain
              cluster={cluster}
              names={users.data?.users.map((user) => user.name)}
              search={search}
              setSearch={setSearch}
            />
          )}
        </UrlTabs>
      )}
    </Page>
  );
}

/** RocketMQ's own word for a broker that has nobody to check against. */
function isOff(error: unknown): boolean {
  return error !== null && asProblem(error).code === "access_control_off";
}
