/** One search job: what it looks for, how far it is, where what it found lies; cancel, continue, delete. */
import { ActionIcon, Box, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerTrackNext, IconTrash, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { del, post } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { usePolling } from "@/shared/live/live";
import { Place, StoredAt } from "@/shared/message/cells";
import { useTexts as useMessageTexts } from "@/shared/message/texts";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Bytes } from "@/shared/ui/Figure";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { components } from "@/types/api.gen";
import { canContinue, isOpen, type Job } from "./jobs";
import { JobProgress, JobState } from "./JobsTab";
import { LookedFor } from "./LookedFor";
import { useTexts } from "./texts";

type Hit = components["schemas"]["JobHit"];
const SHOWN = 500;

interface Props {
  cluster: string;
  id: string;
  /** As the list has it now, if it is in the list. */
  live: Job | undefined;
  onClose: () => void;
}

export function JobPanel({ cluster, id, live, onClose }: Props) {
  const t = useTexts();
  const params = { cluster, id };
  const results = useGet(
    "/clusters/{cluster}/searches/{id}/results/",
    { params, query: { limit: SHOWN } },
    { keepPrevious: true, refetchInterval: usePolling() },
  );
  const { refetch } = results;
  useEffect(() => {
    if (live !== undefined) void refetch();
  }, [live?.found, live?.state, live, refetch]);
  const job = live ?? results.data?.job;
  return (
    <Box mb="md">
      <Panel
        title={t("jobs.results")}
        aside={
          <Group gap="xs">
            {job && <Actions cluster={cluster} job={job} onDeleted={onClose} />}
            <ActionIcon aria-label={t("jobs.close")} onClick={onClose}>
              <IconX size={16} />
            </ActionIcon>
          </Group>
        }
      >
        <Stack gap="sm">
          {job && <JobHead job={job} />}
          <Hits
            cluster={cluster}
            hits={results.data?.results}
            error={results.error}
            onRetry={() => void refetch()}
            isOpen={job !== undefined && isOpen(job)}
          />
        </Stack>
      </Panel>
    </Box>
  );
}

function JobHead({ job }: { job: Job }) {
  const t = useTexts();
  const stopped =
    job.stopped === "end" || job.stopped === "max_scan" || job.stopped === "max_hits"
      ? t(`jobs.stopped.${job.stopped}`)
      : "";
  return (
    <Group gap="md" role="status">
      <JobState job={job} />
      <LookedFor wanted={job.wanted} />
      <Box w={220}>
        <JobProgress job={job} />
      </Box>
      {(stopped || job.error) && (
        <Text size="sm" c="dimmed">
          {job.error || stopped}
        </Text>
      )}
      {job.problems.map((problem) => (
        <Text key={problem} size="sm" c="dimmed">
          {problem}
        </Text>
      ))}
    </Group>
  );
}

function Actions({ cluster, job, onDeleted }: { cluster: string; job: Job; onDeleted: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const [isDeleting, deleting] = useDisclosure(false);
  const params = { cluster, id: job.id };
  const again = () =>
    refresh(client, "/clusters/{cluster}/searches/", "/clusters/{cluster}/searches/{id}/results/");
  const cancel = useMutation({
    mutationFn: () => post("/clusters/{cluster}/searches/{id}/cancel/", { params }),
    onSettled: again,
  });
  const goOn = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/searches/{id}/continue/", {
        params,
        body: { max_scan: 1_000_000, max_hits: 1_000 },
      }),
    onSettled: again,
  });
  const error = cancel.error ?? goOn.error;
  return (
    <>
      {error && <ProblemAlert error={error} isWrite />}
      {isOpen(job) && (
        <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          {t("jobs.cancel")}
        </Button>
      )}
      {canContinue(job) && (
        <Button
          variant="light"
          leftSection={<IconPlayerTrackNext size={14} />}
          loading={goOn.isPending}
          onClick={() => goOn.mutate()}
        >
          {t("jobs.continue")}
        </Button>
      )}
      <Button variant="default" leftSection={<IconTrash size={14} />} onClick={deleting.open}>
        {t("jobs.delete")}
      </Button>
      <Confirm
        opened={isDeleting}
        onClose={deleting.close}
        title={t("jobs.deleteTitle")}
        actionLabel={t("jobs.delete")}
        onConfirm={async () => {
          await del("/clusters/{cluster}/searches/{id}/", { params });
          onDeleted();
          await refresh(client, "/clusters/{cluster}/searches/");
        }}
      >
        <Text size="sm">{t("jobs.deleteDetail")}</Text>
      </Confirm>
    </>
  );
}

function Hits({
  cluster,
  hits,
  error,
  onRetry,
  isOpen: isRunning,
}: {
  cluster: string;
  hits: Hit[] | undefined;
  error: unknown;
  onRetry: () => void;
  isOpen: boolean;
}) {
  const t = useTexts();
  const m = useMessageTexts();
  const navigate = useNavigate();
  const columns = useMemo<Column<Hit>[]>(
    () => [
      {
        key: "stored",
        title: m("column.stored"),
        width: 216,
        render: (hit) => <StoredAt at={hit.stored_at} />,
      },
      { key: "topic", title: m("column.topic"), width: 200, from: 620, render: (hit) => hit.topic },
      { key: "id", title: m("column.id"), render: (hit) => <span className="sb-mono">{hit.msg_id}</span> },
      {
        key: "place",
        title: m("column.place"),
        width: 200,
        from: 760,
        render: (hit) => <Place message={hit} />,
      },
      {
        key: "bytes",
        title: t("jobs.bodyBytes"),
        width: 90,
        from: 520,
        align: "right",
        render: (hit) => <Bytes value={hit.body_bytes} />,
      },
    ],
    [t, m],
  );
  return (
    <Box mah={420} style={{ display: "flex", flexDirection: "column" }}>
      <DataTable
        label={t("jobs.results")}
        columns={columns}
        rows={hits}
        rowKey={(hit) => hit.offset_id}
        error={error}
        onRetry={onRetry}
        onOpen={(hit) =>
          void navigate({
            to: "/clusters/$cluster/messages/$id",
            params: { cluster, id: hit.offset_id },
            search: { topic: hit.topic },
          })
        }
        empty={<EmptyState title={t(isRunning ? "jobs.noResultsYet" : "jobs.noResults")} />}
      />
    </Box>
  );
}
