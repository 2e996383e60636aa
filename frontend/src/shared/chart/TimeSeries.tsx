/**
 * Figures over time (uPlot): a line per series, a cross-hair with the values under it, gaps where a broker was not
 * heard. Dragging across it zooms, if the screen wants that; charts of one page move their cross-hairs together.
 */
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Unknown } from "@/shared/ui/Unknown";
import { optionsOf, TONES } from "./plot_options";
import { type Aligned, align, lastKnown, type Line } from "./series_data";
import classes from "./TimeSeries.module.css";

interface Props {
  title: string;
  lines: readonly Line[];
  /** Seconds between points, as the API says; longer holes are gaps. */
  resolutionS: number;
  format: (value: number) => string;
  height?: number;
  /** Seconds since 1970: the whole range, also where there are no points. */
  from?: number;
  to?: number;
  onZoom?: (from: number, to: number) => void;
}

export function TimeSeries(props: Props) {
  const { title, lines, resolutionS, format, height = 180, from, to } = props;
  const t = useShared();
  const data = useMemo(() => align(lines, resolutionS), [lines, resolutionS]);
  const [at, setAt] = useState<number | null>(null);
  const isEmpty = data.slice(1).every((values) => values.every((value) => value === null));
  return (
    <figure className={classes.figure} aria-label={t("chart.label", { title })}>
      <figcaption className={classes.head}>
        <b>{title}</b>
        {!isEmpty && <Legend lines={lines} data={data} at={at} format={format} />}
      </figcaption>
      {isEmpty ? (
        <EmptyState title={t("chart.noData")} />
      ) : (
        <Plot {...{ data, lines, format, height, from, to }} onZoom={props.onZoom} onPoint={setAt} />
      )}
    </figure>
  );
}

interface LegendProps extends Pick<Props, "lines" | "format"> {
  data: Aligned;
  at: number | null;
}

/** Values under the cross-hair, or the latest ones; always with their time. */
function Legend({ lines, data, at, format }: LegendProps) {
  const t = useShared();
  const locale = useLocale();
  const index = at ?? lastKnown(data);
  const time = data[0][index];
  const moment = time === undefined ? "" : formatTime(time * 1000, locale);
  return (
    <span className={classes.legend}>
      {lines.map((line, number) => {
        const value = data[number + 1]?.[index];
        return (
          <span key={line.label} className={classes.entry}>
            <i style={{ background: `var(${TONES[number % TONES.length]})` }} />
            {line.label} <b>{value === null || value === undefined ? <Unknown /> : format(value)}</b>
          </span>
        );
      })}
      <span className={classes.time}>{at === null ? t("chart.latest", { moment }) : moment}</span>
    </span>
  );
}

interface PlotProps extends Pick<Props, "lines" | "format" | "from" | "to" | "onZoom"> {
  data: Aligned;
  height: number;
  onPoint: (at: number | null) => void;
}

function Plot({ data, lines, format, height, from, to, onZoom, onPoint }: PlotProps) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const scheme = useComputedColorScheme("light");
  const locale = useLocale();
  const plot = useRef<uPlot | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const labels = lines.map((line) => line.label).join("\n");
  const on = useRef({ onZoom, onPoint, format });
  useEffect(() => {
    on.current = { onZoom, onPoint, format };
  });
  useEffect(() => {
    const host = place.current;
    if (host === null || width === 0) return;
    const made = new uPlot(
      optionsOf(
        { labels: labels.split("\n"), width, height, locale, range: [from, to], on: () => on.current },
        host,
      ),
      data as uPlot.AlignedData,
      host,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
    // Data are set below: a chart is not made anew for each point.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [width, height, labels, scheme, locale, from, to]);
  useEffect(() => {
    plot.current?.setData(data as uPlot.AlignedData);
  }, [data]);
  return (
    <div ref={ref}>
      <div ref={place} style={{ height }} />
    </div>
  );
}
