/** A topic of the cluster: typed, with what fits shown below. One request per pause in typing. */
import { Autocomplete } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import type { ReactNode } from "react";
import { useGet } from "@/shared/api/queries";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  value: string;
  onChange: (topic: string) => void;
  label?: string;
  error?: ReactNode;
  /** Also retries and dead letters: they can be read, not written. */
  all?: boolean;
  required?: boolean;
  w?: number | string;
}

const FEW = 20;

export function TopicPicker({ cluster, value, onChange, label, error, all = false, required, w }: Props) {
  const t = useTexts();
  const [typed] = useDebouncedValue(value, 200);
  const kind: ("normal" | "retry" | "dlq")[] = all ? ["normal", "retry", "dlq"] : ["normal"];
  const query = { search: typed, limit: FEW, ordering: "name" as const, kind };
  const found = useGet(
    "/clusters/{cluster}/topics/",
    { params: { cluster }, query },
    { keepPrevious: true, staleTime: 30_000 },
  );
  return (
    <Autocomplete
      label={label ?? t("topic.label")}
      placeholder={t("topic.placeholder")}
      data={found.data?.results.map((row) => row.name) ?? []}
      value={value}
      onChange={onChange}
      error={error}
      required={required}
      size="xs"
      w={w}
      maxDropdownHeight={280}
      spellCheck={false}
      autoComplete="off"
      // The API has searched: what it found is not filtered again.
      filter={({ options }) => options}
    />
  );
}
