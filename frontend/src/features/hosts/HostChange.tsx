/** Cordoning a host, and forgetting one. */
import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { del, patch } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { Confirm } from "@/shared/ui/Confirm";
import { notify } from "@/shared/ui/notices";
import type { Host } from "./HostsScreen";
import { useTexts } from "./texts";

export type Change = "cordon" | "remove";

export function HostChange({ host, what, onClose }: { host: Host; what: Change; onClose: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const words = { name: host.name };
  const params = { host: host.name };
  async function cordon() {
    await patch("/hosts/{host}/", { params, body: { is_cordoned: !host.is_cordoned } });
    await refresh(client, "/hosts/");
    notify(t(host.is_cordoned ? "cordon.doneOff" : "cordon.done", words));
  }
  async function remove() {
    await del("/hosts/{host}/", { params });
    await refresh(client, "/hosts/");
    notify(t("remove.done", words));
  }
  if (what === "remove") {
    const isUsed = host.brokers + host.name_servers > 0;
    return (
      <Confirm
        opened
        onClose={onClose}
        title={t("remove.title", words)}
        actionLabel={t("remove.open")}
        name={host.name}
        onConfirm={remove}
      >
        <Text size="sm">{t("remove.ask")}</Text>
        {isUsed && (
          <Text size="sm" c="var(--sb-warn)">
            {t("remove.used")}
          </Text>
        )}
      </Confirm>
    );
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={t(host.is_cordoned ? "cordon.titleOff" : "cordon.title", words)}
      actionLabel={t(host.is_cordoned ? "cordon.off" : "cordon.on")}
      isDanger={false}
      onConfirm={cordon}
    >
      <Text size="sm">{t(host.is_cordoned ? "cordon.askOff" : "cordon.ask")}</Text>
    </Confirm>
  );
}
