/** One run of a report: how far it is, what it found, its tables, what Spark printed. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { IconPlayerStop, IconRefresh, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { del, post } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { useLive, usePolling } from "@/shared/live/live";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notifyProblem } from "@/shared/ui/notices";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { PageSkeleton } from "@/shared/ui/PageSkeleton";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import { Results } from "./Results";
import { isOpen, LongProgress, Range, type Run, type RunDetail, RunState, useReportName } from "./run_views";
import { reportSearch } from "./search";
import { Tables } from "./Tables";
import { useTexts } from "./texts";

const RUN = "/clusters/{cluster}/reports/runs/{id}/";
const RUNS = "/clusters/{cluster}/reports/runs/";

export function RunScreen() {
  const { cluster = "", run: id = "" } = useParams({ strict: false });
  const client = useQueryClient();
  const polling = usePolling();
  const read = useGet(RUN, { params: { cluster, id } }, { refetchInterval: polling });
  const live = useLive<Run & Record<string, unknown>>(`reports/${encodeURIComponent(cluster)}`).rows?.[id];
  const told = live && `${live.state} ${live.finished_at ?? ""}`;
  useEffect(() => {
    // The channel tells how far it is; results and log are read when it began or ended.
    if (told !== undefined) void refresh(client, RUN);
  }, [client, told]);
  if (read.data === undefined) return read.isError ? <ProblemAlert error={read.error} /> : <PageSkeleton />;
  return <Shown cluster={cluster} run={live ? { ...read.data, ...live } : read.data} />;
}

function Shown({ cluster, run }: { cluster: string; run: RunDetail }) {
  const t = useTexts();
  const nameOf = useReportName();
  const { search, setSearch } = useSearchState(reportSearch);
  return (
    <Page>
      <PageHeader
        title={nameOf(run.report)}
        crumbs={[
          { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } },
          { label: t("title"), link: { to: "/clusters/$cluster/reports", params: { cluster } } },
        ]}
        badges={<RunState run={run} />}
        actions={
          <IfMay role="operator" cluster={cluster}>
            <Verbs cluster={cluster} run={run} />
          </IfMay>
        }
      />
      <Stack gap="md" mb="md">
        {isOpen(run) && <LongProgress run={run} />}
        {run.error !== "" && (
          <Alert color={run.state === "failed" ? "red" : "yellow"} title={t("run.failed")}>
            {run.error}
          </Alert>
        )}
        {run.left_out.length > 0 && (
          <Alert color="yellow">{t("run.leftOut", { names: run.left_out.join(", ") })}</Alert>
        )}
        <About run={run} />
      </Stack>
      <UrlTabs
        tabs={[
          ["results", t("tab.results")],
          ["tables", t("tab.tables")],
          ["log", t("tab.log")],
        ]}
        value={search.tab}
        onChange={(tab) => setSearch({ tab, page: 1 }, { replace: false })}
        fill
      >
        {search.tab === "results" && <Results run={run} />}
        {search.tab === "tables" && (
          <Tables cluster={cluster} run={run} search={search} setSearch={setSearch} />
        )}
        {search.tab === "log" && <Log cluster={cluster} run={run} />}
      </UrlTabs>
    </Page>
  );
}

function About({ run }: { run: RunDetail }) {
  const t = useTexts();
  const options = Object.entries((run.options ?? {}) as Record<string, unknown>);
  return (
    <Panel title={t("run.about")}>
      <KeyValue
        items={[
          [t("column.range"), <Range key="range" run={run} />],
          [t("run.asked"), run.created_by],
          [t("column.created"), <ExactTime key="created" at={run.created_at} />],
          run.finished_at === null ? null : [t("run.finished"), <ExactTime key="end" at={run.finished_at} />],
          run.host === null ? null : [t("column.host"), run.host],
          [
            t("run.options"),
            options.length === 0
              ? t("run.none")
              : options.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(" "),
          ],
          [t("run.expires"), <ExactTime key="expires" at={run.expires_at} />],
        ]}
      />
    </Panel>
  );
}

function Log({ cluster, run }: { cluster: string; run: RunDetail }) {
  const t = useTexts();
  const read = useGet(
    `${RUN}log/`,
    { params: { cluster, id: run.id } },
    { refetchInterval: isOpen(run) && 3_000 },
  );
  if (read.isError) return <ProblemAlert error={read.error} />;
  if (!read.data?.text) return <EmptyState title={t("run.noLog")} />;
  return <CodeBlock code={read.data.text} label={t("run.log")} />;
}

function Verbs({ cluster, run }: { cluster: string; run: RunDetail }) {
  const t = useTexts();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [isLeaving, leave] = useState(false);
  const params = { cluster, id: run.id };
  const cancel = useMutation({
    mutationFn: () => post(`${RUN}cancel/`, { params }),
    onError: (error) => notifyProblem(t("run.cancel"), error),
    onSettled: () => refresh(client, RUN, RUNS),
  });
  const retry = useMutation({
    mutationFn: () => post(`${RUN}retry/`, { params }),
    onError: (error) => notifyProblem(t("run.retry"), error),
    onSuccess: (again) =>
      navigate({ to: "/clusters/$cluster/reports/$run", params: { cluster, run: again.id }, search: {} }),
  });
  if (isOpen(run)) {
    return (
      <Button
        variant="default"
        leftSection={<IconPlayerStop size={14} />}
        disabled={run.is_cancelling}
        loading={cancel.isPending}
        onClick={() => cancel.mutate()}
      >
        {t("run.cancel")}
      </Button>
    );
  }
  return (
    <>
      <Button
        leftSection={<IconRefresh size={14} />}
        loading={retry.isPending}
        onClick={() => retry.mutate()}
      >
        {t("run.retry")}
      </Button>
      {run.state !== "expired" && (
        <Button variant="default" leftSection={<IconTrash size={14} />} onClick={() => leave(true)}>
          {t("run.delete")}
        </Button>
      )}
      <Confirm
        opened={isLeaving}
        onClose={() => leave(false)}
        title={t("run.deleteTitle")}
        actionLabel={t("run.delete")}
        onConfirm={async () => {
          await del(RUN, { params });
          await refresh(client, RUN, RUNS);
        }}
      >
        <Text size="sm">{t("run.deleteDetail")}</Text>
      </Confirm>
    </>
  );
}
