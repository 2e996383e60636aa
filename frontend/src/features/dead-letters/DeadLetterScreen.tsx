/** Dead letters of one group: the letters, what they have in common, and sending them once more. */
import { Button, Menu } from "@mantine/core";
import { IconChevronDown, IconDownload, IconRotateClockwise } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { addressOf } from "@/shared/api/client";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { LettersTab } from "./LettersTab";
import { ReasonsTab } from "./ReasonsTab";
import { RedriveDialog } from "./RedriveDialog";
import { RedrivesTab } from "./RedrivesTab";
import { deadLetterGroupSearch } from "./search";
import { useTexts } from "./texts";

export function DeadLetterScreen() {
  const t = useTexts();
  const { cluster = "", group = "" } = useParams({ strict: false });
  const { search, setSearch } = useSearchState(deadLetterGroupSearch);
  /** Null: no dialog; []: all of them. */
  const [chosen, choose] = useState<readonly string[] | null>(null);
  const tabs = (["messages", "reasons", "redrives"] as const).map((tab) => [tab, t(`tab.${tab}`)] as const);
  const props = { cluster, group, search, setSearch, onRedrive: choose };
  return (
    <Page>
      <PageHeader
        title={group}
        crumbs={[
          { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
          { label: t("title"), link: { to: "/clusters/$cluster/dead-letters", params: { cluster } } },
        ]}
        actions={
          <>
            <ExportMenu cluster={cluster} group={group} />
            <IfMay role="operator" cluster={cluster} name={group}>
              <Button leftSection={<IconRotateClockwise size={14} />} onClick={() => choose([])}>
                {t("redriveAll")}
              </Button>
            </IfMay>
          </>
        }
      />
      <UrlTabs tabs={tabs} value={search.tab} onChange={(tab) => setSearch({ tab }, { replace: false })} fill>
        {search.tab === "messages" && <LettersTab {...props} />}
        {search.tab === "reasons" && <ReasonsTab {...props} />}
        {search.tab === "redrives" && <RedrivesTab {...props} />}
      </UrlTabs>
      <RedriveDialog
        cluster={cluster}
        group={group}
        selection={chosen}
        onClose={() => choose(null)}
        onStarted={(redrive) => {
          choose(null);
          setSearch({ tab: "redrives", redrive }, { replace: false });
        }}
      />
    </Page>
  );
}

const MOST = 10_000;

function ExportMenu({ cluster, group }: { cluster: string; group: string }) {
  const t = useTexts();
  const address = (format: "csv" | "json") =>
    addressOf("/clusters/{cluster}/dlq/{group}/export/", { cluster, group }, { format, max_messages: MOST });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={14} />}
          rightSection={<IconChevronDown size={13} />}
        >
          {t("export.label")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown maw={260}>
        <Menu.Label>{t("export.hint")}</Menu.Label>
        <Menu.Item component="a" href={address("csv")} download>
          {t("export.csv")}
        </Menu.Item>
        <Menu.Item component="a" href={address("json")} download>
          {t("export.json")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
