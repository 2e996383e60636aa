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
}

export function UrlTabs<T extends string>({ tabs, value, onChange, children }: Props<T>) {
  const t = useShared();
  return (
    <Tabs value={value} onChange={(tab) => tab && onChange(tab as T)} keepMounted={false}>
      <Tabs.List aria-label={t("tabs")} mb="md">
        {tabs.map(([name, label]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={value}>{children}</Tabs.Panel>
    </Tabs>
  );
}
