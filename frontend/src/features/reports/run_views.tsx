/** Parts of a run that lists and screens share: its state, its progress, its name. */
import { Progress as Bar, Group, Text } from "@mantine/core";
import { useLocale } from "@/shared/texts/i18n";
import type { Answer } from "@/shared/api/client";
import { formatTime } from "@/shared/format/times";
import { Count } from "@/shared/ui/Figure";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import { progressOf } from "./summary";
import { useTexts } from "./texts";

export type Run = Answer<"/clusters/{cluster}/reports/runs/">["results"][number];
export type RunDetail = Answer<"/clusters/{cluster}/reports/runs/{id}/">;

const TONES: Record<string, Tone> = { running: "info", done: "ok", failed: "bad" };
const NAMES = ["message_trace", "retention", "usage", "search", "audit"] as const;

export const isOpen = (run: Pick<Run, "state">) => run.state === "queued" || run.state === "running";

/** The API's own title for what these pages do not know yet. */
export function useReportName() {
  const t = useTexts();
  return (name: string) => {
    const known = NAMES.find((one) => one === name);
    return known ? t(`report.${known}`) : name;
  };
}

export function RunState({ run }: { run: Pick<Run, "state" | "is_cancelling" | "error"> }) {
  const t = useTexts();
  const label = t(`state.${run.is_cancelling ? "cancelling" : run.state}`);
  return (
    <StateBadge
      state={run.state}
      tone={TONES[run.state] ?? "quiet"}
      label={label}
      why={run.error || undefined}
    />
  );
}

export function ShortProgress({ run }: { run: Run }) {
  const { share } = progressOf(run.progress);
  if (run.state !== "running") return <RunState run={run} />;
  return (
    <Group gap="xs" wrap="nowrap">
      <RunState run={run} />
      {share !== null && <Bar value={share * 100} w={60} size="sm" aria-hidden />}
    </Group>
  );
}

/** In full: what Spark is doing, how far it is, how much it has looked at. */
export function LongProgress({ run }: { run: Run }) {
  const t = useTexts();
  const { phase, stages, tasks, rows, share } = progressOf(run.progress);
  const phases = ["reading", "joining", "writing"] as const;
  const known = phases.find((one) => one === phase);
  const word =
    run.state === "queued" ? t("run.waiting") : known ? t(`run.phase.${known}`) : t("run.starting");
  return (
    <div role="status" aria-label={t("run.progress")}>
      <Bar
        value={share === null ? 100 : share * 100}
        animated={share === null || run.state === "running"}
        striped={share === null}
        aria-label={t("run.progress")}
      />
      <Group gap="lg" mt="xs">
        <Text size="sm">{word}</Text>
        {stages && <Text size="sm">{t("run.stages", { done: stages[0], total: stages[1] })}</Text>}
        {tasks && <Text size="sm">{t("run.tasks", { done: tasks[0], total: tasks[1] })}</Text>}
        {rows !== null && (
          <Text size="sm">
            <Count value={rows} /> {t("run.rows")}
          </Text>
        )}
      </Group>
    </div>
  );
}

export function Range({ run }: { run: Pick<Run, "begin" | "end"> }) {
  const t = useTexts();
  const locale = useLocale();
  if (run.begin === null && run.end === null) return <span>{t("runs.everything")}</span>;
  const parts = [
    run.begin && t("runs.from", { at: formatTime(run.begin, locale) }),
    run.end && t("runs.until", { at: formatTime(run.end, locale) }),
  ].filter(Boolean);
  return <span title={parts.join(" ")}>{parts.join(" ")}</span>;
}

export function tookS(run: Pick<Run, "started_at" | "finished_at">, now: number): number | null {
  if (run.started_at === null) return null;
  const end = run.finished_at === null ? now : Date.parse(run.finished_at);
  return Math.max(0, Math.round((end - Date.parse(run.started_at)) / 1000));
}
