/** One consumer group: how far behind it is and when it will be through, who consumes, and what can be done about it. */
import { Button, Menu, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconEdit, IconMailOff, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { put } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { later } from "@/shared/format/times";
import { namedChannel, useLiveList, usePolling } from "@/shared/live/live";
import { useIsStale } from "@/shared/ui/AgeBadge";
import { CopyButton } from "@/shared/ui/CopyButton";
import { FavouriteStar } from "@/shared/ui/FavouriteStar";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { Tag } from "@/shared/ui/StateBadge";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { DeleteGroup } from "./DeleteGroup";
import { Diagnosis } from "./Diagnosis";
import { EditGroup } from "./EditGroup";
import { type Group, withBehind } from "./group";
import { GroupConfig } from "./GroupConfig";
import { GroupFigures } from "./GroupFigures";
import { GroupOverview } from "./GroupOverview";
import { GroupQueues } from "./GroupQueues";
import { Members } from "./Members";
import { Rebalances } from "./Rebalances";
import { Resets } from "./Resets";
import { GROUP_TABS, groupSearch } from "./search";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/groups/{group}/";
/** The head moves by the socket; single queues are read anew while a tab shows them. */
const REREAD_MS = 2_000;
const ELSEWHERE_MS = 15_000;

export function GroupScreen() {
  const { cluster = "", group = "" } = useParams({ strict: false });
  const t = useTexts();
  const { search, setSearch } = useSearchState(groupSearch);
  const reread = search.tab === "overview" || search.tab === "queues" ? REREAD_MS : ELSEWHERE_MS;
  const read = useGet(PATH, { params: { cluster, group } }, { refetchInterval: usePolling() || reread });
  const rows = useMemo(() => read.data && [read.data], [read.data]);
  const live = useLiveList(rows, namedChannel("groups", cluster, [group]), (row) => row.name);
  const sampledAt = later(read.data?.freshness.sampled_at, live.sampledAt);
  const [found] = useMemo(() => withBehind(live.rows, sampledAt) ?? [], [live.rows, sampledAt]);
  const isStale = useIsStale(sampledAt) && read.data !== undefined;
  const where = { cluster, name: group, group: found, isStale };
  return (
    <Page>
      <PageHeader
        title={group}
        crumbs={[
          { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
          { label: t("title"), link: { to: "/clusters/$cluster/groups", params: { cluster } } },
        ]}
        badges={<Badges cluster={cluster} name={group} group={found} />}
        sampledAt={found && sampledAt}
        actions={found && <Actions cluster={cluster} group={found} />}
      />
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {!(read.isError && !found) && (
        <Stack gap="md">
          <GroupFigures group={found} isStale={isStale} />
          <UrlTabs
            tabs={GROUP_TABS.map((tab) => [tab, t(`tab.${tab}`)] as const)}
            value={search.tab}
            onChange={(tab) => setSearch({ tab })}
          >
            {search.tab === "overview" && (
              <GroupOverview
                {...where}
                range={search.range}
                onRange={(range) => setSearch({ range })}
                onTopic={(topic) => setSearch({ tab: "queues", topic })}
              />
            )}
            {search.tab === "queues" && (
              <GroupQueues {...where} topic={search.topic} onTopic={(topic) => setSearch({ topic })} />
            )}
            {search.tab === "members" && <Members cluster={cluster} group={group} />}
            {search.tab === "rebalances" && <Rebalances cluster={cluster} group={group} />}
            {search.tab === "resets" && <Resets {...where} />}
            {search.tab === "diagnosis" && <Diagnosis cluster={cluster} group={group} />}
            {search.tab === "config" && <GroupConfig {...where} />}
          </UrlTabs>
        </Stack>
      )}
    </Page>
  );
}

function Badges({ cluster, name, group }: { cluster: string; name: string; group: Group | undefined }) {
  const t = useTexts();
  const client = useQueryClient();
  async function mark(is_favourite: boolean) {
    await put("/clusters/{cluster}/groups/{group}/favourite/", {
      params: { cluster, group: name },
      body: { is_favourite },
    });
    await refresh(client, PATH, "/clusters/{cluster}/groups/");
  }
  return (
    <>
      <CopyButton value={name} name={name} />
      {group && (
        <>
          <FavouriteStar name={name} isOn={group.is_favourite} onChange={mark} />
          {group.model === "CLUSTERING" && <Tag>{t("model.CLUSTERING")}</Tag>}
          {group.model === "BROADCASTING" && <Tag tone="info">{t("model.BROADCASTING")}</Tag>}
          {!group.is_live && <Tag tone="warn">{t("notSeen")}</Tag>}
        </>
      )}
    </>
  );
}

function Actions({ cluster, group }: { cluster: string; group: Group }) {
  const t = useTexts();
  const [isEditing, edit] = useDisclosure(false);
  const [isDeleting, remove] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconMailOff size={14} />}
        renderRoot={(props) => (
          <Link
            to="/clusters/$cluster/dead-letters"
            params={{ cluster }}
            search={{ group: group.name } as never}
            {...props}
          />
        )}
      >
        {t("action.deadLetters")}
      </Button>
      <IfMay role="operator" cluster={cluster} name={group.name}>
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" rightSection={<IconChevronDown size={14} />}>
              {t("action.more")}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconEdit size={14} />} onClick={edit.open}>
              {t("action.edit")}
            </Menu.Item>
            <Menu.Item leftSection={<IconTrash size={14} />} color="red.8" onClick={remove.open}>
              {t("action.delete")}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        {isEditing && <EditGroup cluster={cluster} group={group.name} onClose={edit.close} />}
        {isDeleting && <DeleteGroup cluster={cluster} group={group} onClose={remove.close} />}
      </IfMay>
    </>
  );
}
