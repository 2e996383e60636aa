/** What a report found: its figures, its charts, and what it cannot know. */
import { Alert, List, Stack } from "@mantine/core";
import { IconReportAnalytics } from "@tabler/icons-react";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Bytes } from "@/shared/ui/Figure";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Panel } from "@/shared/ui/Panel";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { PlainText } from "@/shared/ui/TextBody";
import { Unknown } from "@/shared/ui/Unknown";
import classes from "./Report.module.css";
import { ReportChart } from "./ReportChart";
import type { RunDetail } from "./run_views";
import { readable, summaryOf } from "./summary";
import { useTexts } from "./texts";

export function Results({ run }: { run: RunDetail }) {
  const t = useTexts();
  const summary = summaryOf(run.summary);
  if (summary === null) {
    return (
      <EmptyState icon={<IconReportAnalytics size={28} />} title={t("run.noResults")}>
        {t("run.noResultsDetail")}
      </EmptyState>
    );
  }
  return (
    <Stack gap="md">
      <Notes title={t("run.warnings")} notes={summary.warnings} color="yellow" />
      <Panel title={t("run.figures")}>
        <KeyValue
          items={summary.figures.map(([name, value]) => [
            readable(name),
            <Figure key={name} name={name} value={value} />,
          ])}
        />
      </Panel>
      <div className={classes.charts}>
        {summary.charts.map((chart) => (
          <ReportChart key={chart.name} chart={chart} />
        ))}
      </div>
      <Notes title={t("run.unknown")} notes={summary.unknown} color="gray" />
    </Stack>
  );
}

function Figure({ name, value }: { name: string; value: string | null }) {
  const locale = useLocale();
  if (value === null) return <Unknown />;
  if (/^\d+$/.test(value) && /(^|_)bytes(_|$)/.test(name)) return <Bytes value={value} />;
  if (/^-?\d+$/.test(value)) return <span className="sb-figure">{formatCount(value, locale)}</span>;
  if (/^\d{4}-\d{2}-\d{2}T/.test(value)) return <ExactTime at={value} />;
  return <PlainText text={value} />;
}

function Notes({ title, notes, color }: { title: string; notes: string[]; color: string }) {
  if (notes.length === 0) return null;
  return (
    <Alert color={color} title={title}>
      <List size="sm">
        {notes.map((note) => (
          <List.Item key={note}>
            <PlainText text={note} />
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
