/** A moment in the zone of whoever looks; in addresses and for the API it is UTC. Empty: no limit. */
import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { fromLocal, toLocal } from "@/shared/format/local_time";

interface Props {
  label: string;
  value: string;
  onChange: (at: string) => void;
  error?: ReactNode;
  required?: boolean;
  w?: number | string;
}

export function TimeField({ label, value, onChange, error, required, w = 190 }: Props) {
  return (
    <TextInput
      type="datetime-local"
      step={1}
      label={label}
      value={toLocal(value)}
      onChange={(event) => onChange(fromLocal(event.currentTarget.value))}
      error={error}
      required={required}
      w={w}
    />
  );
}
