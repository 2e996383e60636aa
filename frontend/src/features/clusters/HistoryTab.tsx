/** The whole cluster over time. */
import { Stack } from "@mantine/core";
import { useMemo } from "react";
import type { Range } from "@/shared/chart/ranges";
import { RangePicker } from "@/shared/chart/RangePicker";
import { SeriesChart } from "@/shared/chart/SeriesChart";
import { formatCount, formatRate } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { useTexts } from "./texts";

export function HistoryTab({
  cluster,
  range,
  onRange,
}: {
  cluster: string;
  range: Range;
  onRange: (range: Range) => void;
}) {
  const t = useTexts();
  const locale = useLocale();
  const lines = useMemo(
    () =>
      ({
        rates: [
          { subject: "cluster", metric: "put_rate", label: t("history.in") },
          { subject: "cluster", metric: "got_rate", label: t("history.out") },
        ],
        lag: [{ subject: "cluster", metric: "lag", label: t("history.lag") }],
      }) as const,
    [t],
  );
  return (
    <Stack gap="md">
      <div>
        <RangePicker value={range} onChange={onRange} />
      </div>
      <Panel>
        <SeriesChart
          title={t("history.rates")}
          cluster={cluster}
          range={range}
          lines={lines.rates}
          format={(value) => formatRate(value, locale)}
          height={200}
        />
      </Panel>
      <Panel>
        <SeriesChart
          title={t("history.lag")}
          cluster={cluster}
          range={range}
          lines={lines.lag}
          format={(value) => formatCount(Math.round(value), locale)}
          height={200}
        />
      </Panel>
    </Stack>
  );
}
