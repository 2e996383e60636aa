/** One topic: its figures, queues, who reads and who could be sending, its configuration on every broker. */
import { Button, Menu, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconEdit, IconMessage2, IconTrash } from "@tabler/icons-react";
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
import { DeleteTopic } from "./DeleteTopic";
import { EditTopic } from "./EditTopic";
import { TOPIC_TABS, topicSearch } from "./search";
import { useTexts } from "./texts";
import { permWord, type Topic } from "./topic";
import { TopicConfig } from "./TopicConfig";
import { TopicFigures } from "./TopicFigures";
import { TopicGroups } from "./TopicGroups";
import { TopicOverview } from "./TopicOverview";
import { TopicProducers } from "./TopicProducers";
import { TopicQueues } from "./TopicQueues";

const PATH = "/clusters/{cluster}/topics/{topic}/";
const REREAD_MS = 10_000;

export function TopicScreen() {
  const { cluster = "", topic = "" } = useParams({ strict: false });
  const t = useTexts();
  const { search, setSearch } = useSearchState(topicSearch);
  const read = useGet(PATH, { params: { cluster, topic } }, { refetchInterval: usePolling() || REREAD_MS });
  const rows = useMemo(() => read.data && [read.data], [read.data]);
  const live = useLiveList(rows, namedChannel("topics", cluster, [topic]), (row) => row.name);
  const [found] = live.rows ?? [];
  const sampledAt = later(read.data?.freshness.sampled_at, live.sampledAt);
  const isStale = useIsStale(sampledAt) && read.data !== undefined;
  return (
    <Page>
      <PageHeader
        title={topic}
        crumbs={[
          { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
          { label: t("title"), link: { to: "/clusters/$cluster/topics", params: { cluster } } },
        ]}
        badges={<Badges cluster={cluster} topic={topic} found={found} />}
        sampledAt={found && sampledAt}
        actions={found && <Actions cluster={cluster} topic={topic} kind={found.kind} />}
      />
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {!(read.isError && !found) && (
        <Stack gap="md">
          <TopicFigures topic={found} isStale={isStale} />
          <UrlTabs
            tabs={TOPIC_TABS.map((tab) => [tab, t(`tab.${tab}`)] as const)}
            value={search.tab}
            onChange={(tab) => setSearch({ tab })}
          >
            {search.tab === "overview" && (
              <TopicOverview
                cluster={cluster}
                name={topic}
                topic={found}
                range={search.range}
                onRange={(range) => setSearch({ range })}
              />
            )}
            {search.tab === "queues" && (
              <TopicQueues topic={topic} queues={found?.queues} isStale={isStale} />
            )}
            {search.tab === "groups" && <TopicGroups cluster={cluster} topic={topic} />}
            {search.tab === "producers" && <TopicProducers cluster={cluster} topic={topic} />}
            {search.tab === "config" && <TopicConfig cluster={cluster} topic={topic} />}
          </UrlTabs>
        </Stack>
      )}
    </Page>
  );
}

function Badges({ cluster, topic, found }: { cluster: string; topic: string; found: Topic | undefined }) {
  const t = useTexts();
  const client = useQueryClient();
  async function mark(is_favourite: boolean) {
    const params = { cluster, topic };
    await put("/clusters/{cluster}/topics/{topic}/favourite/", { params, body: { is_favourite } });
    await refresh(client, PATH, "/clusters/{cluster}/topics/");
  }
  return (
    <>
      <CopyButton value={topic} name={topic} />
      {found && (
        <>
          <FavouriteStar name={topic} isOn={found.is_favourite} onChange={mark} />
          {found.kind !== "normal" && <Tag>{t(`kind.${found.kind}`)}</Tag>}
          {found.is_ordered && <Tag tone="info">{t("ordered")}</Tag>}
          {found.perm !== null && (
            <Tag tone={permWord(found.perm) === "rw" ? "quiet" : "warn"}>
              {t(`perm.${permWord(found.perm)}`)}
            </Tag>
          )}
          {!found.is_live && <Tag tone="warn">{t("notSeen")}</Tag>}
        </>
      )}
    </>
  );
}

function Actions({ cluster, topic, kind }: { cluster: string; topic: string; kind: Topic["kind"] }) {
  const t = useTexts();
  const [isEditing, edit] = useDisclosure(false);
  const [isDeleting, remove] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconMessage2 size={14} />}
        renderRoot={(props) => (
          <Link
            to="/clusters/$cluster/messages"
            params={{ cluster }}
            search={{ topic } as never}
            {...props}
          />
        )}
      >
        {t("action.messages")}
      </Button>
      {kind !== "system" && (
        <IfMay role="operator" cluster={cluster} name={topic}>
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
          {isEditing && <EditTopic cluster={cluster} topic={topic} onClose={edit.close} />}
          {isDeleting && <DeleteTopic cluster={cluster} topic={topic} onClose={remove.close} />}
        </IfMay>
      )}
    </>
  );
}
