/** Reports of a cluster: runs with their progress, and schedules. Says at once when Spark cannot run, and why. */
import { Alert, Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { RunForm } from "./RunForm";
import { RunsTab } from "./RunsTab";
import { SchedulesTab } from "./SchedulesTab";
import { reportsSearch } from "./search";
import { useTexts } from "./texts";

export function ReportsScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const navigate = useNavigate();
  const { search, setSearch } = useSearchState(reportsSearch);
  const [isAsking, ask] = useState(false);
  const catalogue = useGet("/reports/", {});
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
        actions={
          <IfMay role="operator" cluster={cluster}>
            <Button leftSection={<IconPlayerPlay size={14} />} onClick={() => ask(true)}>
              {t("runs.new")}
            </Button>
          </IfMay>
        }
      />
      {catalogue.data?.is_available === false && (
        <Alert color="yellow" title={t("missing.title")} mb="md">
          {catalogue.data.missing || t("missing.unknown")}
        </Alert>
      )}
      <UrlTabs
        tabs={[
          ["runs", t("tab.runs")],
          ["schedules", t("tab.schedules")],
        ]}
        value={search.tab}
        onChange={(tab) => setSearch({ tab, page: 1 }, { replace: false })}
        fill
      >
        {search.tab === "runs" && <RunsTab cluster={cluster} search={search} setSearch={setSearch} />}
        {search.tab === "schedules" && <SchedulesTab cluster={cluster} />}
      </UrlTabs>
      <RunForm
        opened={isAsking}
        onClose={() => ask(false)}
        cluster={cluster}
        onStarted={(run) =>
          void navigate({ to: "/clusters/$cluster/reports/$run", params: { cluster, run }, search: {} })
        }
      />
    </Page>
  );
}
