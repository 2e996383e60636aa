/** What runs and schedules ask for alike: which report, with which options, in which zone. */
import { Select, Stack, Switch, Text } from "@mantine/core";
import type { ProblemError } from "@/shared/api/problem";
import { fieldError } from "@/shared/ui/ProblemWords";
import { OptionFields } from "./OptionFields";
import { optionsFrom, type Report, type Typed } from "./option_fields";
import { useReportName } from "./run_views";
import { useTexts } from "./texts";

export interface Wish {
  report: string;
  typed: Typed;
  time_zone: string;
  allows_partial: boolean;
}

const ZONES = Intl.supportedValuesOf("timeZone");

export function firstWish(): Wish {
  return {
    report: "retention",
    typed: {},
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    allows_partial: false,
  };
}

export function wishBody(wish: Wish, reports: readonly Report[]) {
  const report = reports.find((one) => one.name === wish.report);
  return {
    report: wish.report,
    options: optionsFrom(report?.options ?? [], wish.typed),
    time_zone: wish.time_zone,
    allows_partial: wish.allows_partial,
  };
}

interface Props {
  reports: readonly Report[];
  wish: Wish;
  set: (changes: Partial<Wish>) => void;
  problem: ProblemError;
}

export function WishFields({ reports, wish, set, problem }: Props) {
  const t = useTexts();
  const nameOf = useReportName();
  const report = reports.find((one) => one.name === wish.report);
  const zones = ZONES.includes(wish.time_zone) ? ZONES : [wish.time_zone, ...ZONES];
  return (
    <Stack gap="sm">
      <Select
        label={t("form.report")}
        data={reports.map((one) => ({ value: one.name, label: nameOf(one.name) }))}
        value={wish.report}
        error={fieldError(problem, "report")}
        allowDeselect={false}
        onChange={(chosen) => chosen && set({ report: chosen, typed: {} })}
      />
      {report && (
        <Text size="sm" c="dimmed">
          {report.about}
        </Text>
      )}
      <OptionFields
        options={report?.options ?? []}
        typed={wish.typed}
        onChange={(typed) => set({ typed })}
        problem={problem}
      />
      <Select
        label={t("form.zone")}
        data={zones}
        searchable
        value={wish.time_zone}
        error={fieldError(problem, "time_zone")}
        allowDeselect={false}
        onChange={(zone) => zone && set({ time_zone: zone })}
      />
      <Switch
        label={t("form.partial")}
        description={t("form.partialHint")}
        checked={wish.allows_partial}
        onChange={(event) => set({ allows_partial: event.currentTarget.checked })}
      />
    </Stack>
  );
}
