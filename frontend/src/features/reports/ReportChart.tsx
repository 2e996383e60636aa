/** A chart of a report's summary: lines over time, or bars for everything else. */
import { useMemo } from "react";
import { TimeSeries } from "@/shared/chart/TimeSeries";
import { formatScale } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { PlainText } from "@/shared/ui/TextBody";
import { Unknown } from "@/shared/ui/Unknown";
import classes from "./Report.module.css";
import { type Chart, linesOf, readable } from "./summary";

const MOST_BARS = 20;

export function ReportChart({ chart }: { chart: Chart }) {
  const locale = useLocale();
  const lines = useMemo(() => linesOf(chart), [chart]);
  if (lines !== null) {
    return (
      <Panel>
        <TimeSeries
          title={readable(chart.name)}
          lines={lines}
          resolutionS={0}
          format={(value) => formatScale(value, locale)}
          height={220}
        />
      </Panel>
    );
  }
  return (
    <Panel title={readable(chart.name)}>
      <Bars chart={chart} />
    </Panel>
  );
}

/** The first series by bars, the largest as long as the room; other series only say their figures. */
function Bars({ chart }: { chart: Chart }) {
  const locale = useLocale();
  const rows = chart.x.values.slice(0, MOST_BARS).map((label, at) => ({
    label: label ?? "",
    values: chart.series.map((series) => series.values[at] ?? null),
  }));
  const most = Math.max(...rows.map((row) => Number(row.values[0] ?? 0)), 0);
  return (
    <table className={classes.bars}>
      <thead>
        <tr>
          <th scope="col">{readable(chart.x.label)}</th>
          <th scope="col" aria-hidden />
          {chart.series.map((series) => (
            <th key={series.label} scope="col">
              <PlainText text={readable(series.label)} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.label}>
            <th scope="row" title={row.label}>
              <PlainText text={row.label} />
            </th>
            <td className={classes.room} aria-hidden>
              <i style={{ width: `${most > 0 ? (Number(row.values[0] ?? 0) / most) * 100 : 0}%` }} />
            </td>
            {row.values.map((value, at) => (
              <td key={at} className="sb-figure">
                {value === null ? <Unknown /> : formatScale(Number(value), locale)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
