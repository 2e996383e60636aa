/** How far back charts look; in the address. */
import { SegmentedControl } from "@mantine/core";
import { useShared } from "@/shared/texts/shared";
import { RANGE_NAMES, type Range } from "./ranges";

export function RangePicker({ value, onChange }: { value: Range; onChange: (range: Range) => void }) {
  const t = useShared();
  return (
    <SegmentedControl
      aria-label={t("chart.range")}
      value={value}
      onChange={(range) => onChange(range as Range)}
      data={RANGE_NAMES.map((range) => ({ value: range, label: t(`range.${range}`) }))}
    />
  );
}
