/** On which hosts: any that answers, or the named ones. Whoever may not see hosts leaves it to the console. */
import { MultiSelect, Text } from "@mantine/core";
import { useGet } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { useTexts } from "../texts";

const MOST = 500;

export function useHosts() {
  const { may } = useRights();
  const isSeen = may("viewer");
  const read = useGet("/hosts/", { query: { limit: MOST } }, { enabled: isSeen });
  return { isSeen, hosts: read.data?.results };
}

export function HostChoice({ value, onChange }: { value: string[]; onChange: (hosts: string[]) => void }) {
  const t = useTexts();
  const { isSeen, hosts } = useHosts();
  if (!isSeen) {
    return (
      <Text size="sm" c="dimmed">
        {t("make.hostsHidden")}
      </Text>
    );
  }
  const data = (hosts ?? []).map((host) => {
    const state = host.is_silent
      ? t("make.silent")
      : host.is_cordoned
        ? t("make.cordoned")
        : t("make.runs", { count: host.brokers });
    return {
      value: host.name,
      label: `${host.name} · ${state}`,
      disabled: host.is_silent || host.is_cordoned,
    };
  });
  return (
    <MultiSelect
      label={t("make.hosts")}
      description={t("make.hostsHint")}
      placeholder={value.length === 0 ? t("make.hostsAll") : ""}
      data={data}
      value={value}
      onChange={onChange}
      searchable
      clearable
    />
  );
}
