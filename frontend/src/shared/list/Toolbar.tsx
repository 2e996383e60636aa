/** Above a list: its search, filters, and what can be done with it. */
import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { type ReactNode, useEffect, useState } from "react";
import { useShared } from "@/shared/texts/shared";
import classes from "./DataTable.module.css";

export function Toolbar({ children }: { children: ReactNode }) {
  return <div className={classes.toolbar}>{children}</div>;
}

const TYPING_MS = 250;

/** Writes into the address when somebody stops typing; follows it when it changes otherwise. */
export function SearchBox({
  value,
  onChange,
  placeholder,
}: {
  value: string;
  onChange: (text: string) => void;
  placeholder?: string;
}) {
  const t = useShared();
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return;
    const timer = window.setTimeout(() => onChange(typed.trim()), TYPING_MS);
    return () => window.clearTimeout(timer);
    // Only typing starts the clock.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [typed]);
  return (
    <TextInput
      type="search"
      aria-label={t("table.search")}
      placeholder={placeholder ?? t("table.searchPlaceholder")}
      leftSection={<IconSearch size={14} />}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      w={260}
    />
  );
}

/** A filter by a whole word, such as an owner: asked for when the field is left or Enter is pressed. */
export function WordBox({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (word: string) => void;
}) {
  return (
    <TextInput
      key={value}
      aria-label={label}
      placeholder={label}
      defaultValue={value}
      w={120}
      onBlur={(event) => event.currentTarget.value !== value && onChange(event.currentTarget.value.trim())}
      onKeyDown={(event) => event.key === "Enter" && onChange(event.currentTarget.value.trim())}
    />
  );
}
