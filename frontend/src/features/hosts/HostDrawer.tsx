/** One host, beside the list. */
import { Drawer } from "@mantine/core";
import { KeyValue } from "@/shared/ui/KeyValue";
import { ExactTime, RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { type Host, HostState } from "./HostsScreen";
import { useTexts } from "./texts";

export function HostDrawer({ host, onClose }: { host: Host | undefined; onClose: () => void }) {
  const t = useTexts();
  return (
    <Drawer
      opened={host !== undefined}
      onClose={onClose}
      position="right"
      title={host?.name}
      closeButtonProps={{ "aria-label": t("one.close") }}
    >
      {host && <About host={host} />}
    </Drawer>
  );
}

function About({ host }: { host: Host }) {
  const t = useTexts();
  const labels = Object.entries((host.labels ?? {}) as Record<string, string>);
  return (
    <KeyValue
      items={[
        [t("column.state"), <HostState key="state" host={host} />],
        [t("column.heard"), <RelativeTime key="heard" at={host.heartbeat_at} missing="never" />],
        [
          t("column.address"),
          <span key="address" className="sb-mono">
            {host.address}
          </span>,
        ],
        [
          t("one.dataRoot"),
          <span key="root" className="sb-mono">
            {host.data_root}
          </span>,
        ],
        [t("one.ports"), `${host.port_low}–${host.port_high}`],
        [t("one.nsPorts"), `${host.namesrv_port_low}–${host.namesrv_port_high}`],
        [t("column.brokers"), host.brokers],
        [t("column.masters"), host.masters],
        [t("column.nameServers"), host.name_servers],
        [t("one.version"), host.agent_version],
        [t("one.joined"), <ExactTime key="joined" at={host.joined_at} />],
        [t("one.booted"), <ExactTime key="booted" at={host.booted_at} />],
        labels.length > 0
          ? [t("one.labels"), labels.map(([name, value]) => <Tag key={name}>{`${name}=${value}`}</Tag>)]
          : null,
      ]}
    />
  );
}
