/** Search jobs: who looks for what, how far they are, what they found. They move by themselves. */
import { Progress } from "@mantine/core";
import { IconStopwatch } from "@tabler/icons-react";
import { useMemo } from "react";
import { formatCount } from "@/shared/format/numbers";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count } from "@/shared/ui/Figure";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import { JobPanel } from "./JobPanel";
import { type Job, shareOf, useJobs } from "./jobs";
import { LookedFor } from "./LookedFor";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";

export function JobsTab({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const { read, jobs } = useJobs(cluster);
  const columns = useColumns();
  const chosen = jobs?.find((job) => job.id === search.job);
  return (
    <>
      {search.job !== "" && (
        <JobPanel
          key={search.job}
          cluster={cluster}
          id={search.job}
          live={chosen}
          onClose={() => setSearch({ job: "" }, { replace: false })}
        />
      )}
      <DataTable
        label={t("jobs.label")}
        columns={columns}
        rows={jobs}
        rowKey={(job) => job.id}
        rowName={(job) => job.topics.join(", ")}
        error={read.error}
        onRetry={() => void read.refetch()}
        onOpen={(job) => setSearch({ job: job.id }, { replace: false })}
        fill={search.job === ""}
        empty={
          <EmptyState icon={<IconStopwatch size={28} />} title={t("jobs.empty")}>
            {t("jobs.emptyDetail")}
          </EmptyState>
        }
      />
    </>
  );
}

const TONES: Record<Job["state"], Tone> = {
  queued: "info",
  running: "info",
  done: "ok",
  failed: "bad",
  cancelled: "quiet",
};

export function JobState({ job }: { job: Pick<Job, "state" | "stopped" | "error"> }) {
  const t = useTexts();
  const isPartial = job.state === "done" && job.stopped !== "end";
  const why =
    job.error ||
    (job.stopped === "max_scan" || job.stopped === "max_hits" ? t(`jobs.stopped.${job.stopped}`) : undefined);
  return (
    <StateBadge tone={isPartial ? "warn" : TONES[job.state]} label={t(`jobs.state.${job.state}`)} why={why} />
  );
}

export function JobProgress({ job }: { job: Job }) {
  const t = useTexts();
  const locale = useLocale();
  const share = shareOf(job);
  const words = {
    scanned: formatCount(job.scanned, locale),
    estimate: job.estimate === null ? "?" : formatCount(job.estimate, locale),
  };
  return (
    <span style={{ display: "grid", gap: 3 }}>
      <Progress value={(share ?? 0) * 100} size={4} aria-label={t("jobs.scanned", words)} />
      <span className="sb-figure" style={{ fontSize: 11 }}>
        {t("jobs.scanned", words)}
      </span>
    </span>
  );
}

function useColumns(): Column<Job>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "state", title: t("jobs.column.state"), width: 120, render: (job) => <JobState job={job} /> },
      {
        key: "what",
        title: t("jobs.column.what"),
        render: (job) => <LookedFor wanted={job.wanted} isLine />,
      },
      {
        key: "topics",
        title: t("jobs.column.topics"),
        width: 180,
        from: 700,
        render: (job) => <span title={job.topics.join("\n")}>{job.topics.join(", ")}</span>,
      },
      {
        key: "progress",
        title: t("jobs.column.progress"),
        width: 200,
        from: 520,
        render: (job) => <JobProgress job={job} />,
      },
      {
        key: "found",
        title: t("jobs.column.found"),
        width: 80,
        align: "right",
        render: (job) => <Count value={job.found} />,
      },
      { key: "by", title: t("jobs.column.by"), width: 100, from: 940, render: (job) => job.created_by },
      {
        key: "made",
        title: t("jobs.column.made"),
        width: 120,
        from: 820,
        render: (job) => <RelativeTime at={job.created_at} />,
      },
    ],
    [t],
  );
}
