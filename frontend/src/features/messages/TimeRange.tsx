/** When messages were stored: a span until now, or from and to. */
import { Select } from "@mantine/core";
import { useState } from "react";
import { serverNow } from "@/shared/format/clock";
import { TimeField } from "@/shared/ui/TimeField";
import { useTexts } from "./texts";

const SPANS = { m15: 15 * 60, h1: 3_600, d1: 86_400 } as const;
const CHOICES = ["all", "m15", "h1", "d1", "own"] as const;
type Choice = (typeof CHOICES)[number];

interface Props {
  begin: string;
  end: string;
  onChange: (times: { begin?: string; end?: string }) => void;
}

export function TimeRange({ begin, end, onChange }: Props) {
  const t = useTexts();
  const [chosen, choose] = useState<Choice | null>(null);
  const choice = begin === "" && end === "" && chosen !== "own" ? "all" : (chosen ?? "own");
  function take(next: Choice) {
    choose(next);
    if (next === "all") onChange({ begin: "", end: "" });
    else if (next !== "own")
      onChange({ begin: new Date(serverNow() - SPANS[next] * 1000).toISOString(), end: "" });
  }
  return (
    <>
      <Select
        label={t("range.label")}
        value={choice}
        onChange={(value) => take(value as Choice)}
        data={CHOICES.map((one) => ({ value: one, label: t(`range.${one}`) }))}
        w={130}
      />
      {choice === "own" && (
        <>
          <TimeField label={t("field.begin")} value={begin} onChange={(at) => onChange({ begin: at })} />
          <TimeField label={t("field.end")} value={end} onChange={(at) => onChange({ end: at })} />
        </>
      )}
    </>
  );
}
