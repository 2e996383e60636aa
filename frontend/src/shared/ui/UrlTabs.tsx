/** Tabs whose choice is in the address: `<UrlTabs tabs={[["queues", t("…")]]} value={search.tab} onChange={(tab) => setSearch({ tab })}>`. */
import { Tabs } from "@mantine/core";
import type { ReactNode } from "react";
import { useShared } from "@/shared/texts/shared";

interface Props<T extends string> {
  tabs: readonly (readonly [name: T, label: ReactNode])[];
  value: T;
  onChange: (tab: T) => void;
  /** Of the chosen tab alone: others are not drawn and ask for nothing. */
  children: ReactNode;
  /** Takes the height that is left of the page: tables inside scroll by themselves. */
  fill?: boolean;
}

/** May be smaller than what is inside: a table scrolls by itself then, and anything else makes the page scroll. */
const FILLING = { display: "flex", flexDirection: "column", flex: "1 1 auto", minHeight: 0 } as const;

export function UrlTabs<T extends string>({ tabs, value, onChange, children, fill = false }: Props<T>) {
  const t = useShared();
  const style = fill ? FILLING : undefined;
  return (
    <Tabs value={value} onChange={(tab) => tab && onChange(tab as T)} keepMounted={false} style={style}>
      <Tabs.List aria-label={t("tabs")} mb="md">
        {tabs.map(([name, label]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={value} style={style}>
        {children}
      </Tabs.Panel>
    </Tabs>
  );
}
