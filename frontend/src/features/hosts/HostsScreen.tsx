/** Hosts with what they run and when they were last heard of; how to join one. */
import { ActionIcon, Button, Menu, Text } from "@mantine/core";
import { IconDots, IconPlus, IconServer2 } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { POLL_MS } from "@/shared/live/live";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Count } from "@/shared/ui/Figure";
import { IfMay } from "@/shared/ui/IfMay";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge } from "@/shared/ui/StateBadge";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { HostChange, type Change } from "./HostChange";
import { HostDrawer } from "./HostDrawer";
import { JoinDialog } from "./JoinDialog";
import { hostsSearch } from "./search";
import { useTexts } from "./texts";

export type Host = Answer<"/hosts/">["results"][number];

export function HostsScreen() {
  const t = useTexts();
  const { search, setSearch } = useSearchState(hostsSearch);
  const [change, setChange] = useState<{ host: Host; what: Change } | null>(null);
  const query = { ...pageQuery(search), search: search.search, ordering: search.sort };
  // Agents are heard of every few seconds; hosts have no live channel.
  const hosts = useGet("/hosts/", { query }, { keepPrevious: true, refetchInterval: POLL_MS });
  const columns = useColumns((host, what) => setChange({ host, what }));
  const joinButton = (
    <IfMay role="admin">
      <Button leftSection={<IconPlus size={15} />} onClick={() => setSearch({ join: true })}>
        {t("join.open")}
      </Button>
    </IfMay>
  );
  return (
    <Page>
      <PageHeader title={t("title")} actions={joinButton}>
        <Text size="sm" c="dimmed">
          {t("lead")}
        </Text>
      </PageHeader>
      <Toolbar>
        <SearchBox value={search.search} onChange={(text) => setSearch({ search: text })} />
      </Toolbar>
      <DataTable
        label={t("list")}
        columns={columns}
        rows={hosts.data?.results}
        rowKey={(host) => host.name}
        error={hosts.error}
        onRetry={() => void hosts.refetch()}
        isFetching={hosts.isPlaceholderData}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(host) => setSearch({ host: host.name })}
        onClearFilters={search.search ? () => setSearch({ search: "" }) : undefined}
        empty={
          <EmptyState icon={<IconServer2 size={28} />} title={t("empty")} action={joinButton}>
            {t("emptyDetail")}
          </EmptyState>
        }
        count={hosts.data?.count}
        offset={(search.page - 1) * search.size}
      />
      <Pager page={search.page} size={search.size} count={hosts.data?.count} onChange={setSearch} />
      <HostDrawer
        host={hosts.data?.results.find((host) => host.name === search.host)}
        onClose={() => setSearch({ host: "" })}
      />
      <JoinDialog
        opened={search.join}
        onClose={() => setSearch({ join: false })}
        hosts={hosts.data?.results ?? []}
      />
      {change && <HostChange {...change} onClose={() => setChange(null)} />}
    </Page>
  );
}

export function HostState({ host }: { host: Host }) {
  const t = useTexts();
  if (host.is_silent) return <StateBadge tone="bad" label={t("state.silent")} why={t("stateWhy.silent")} />;
  if (host.is_cordoned)
    return <StateBadge tone="warn" label={t("state.cordoned")} why={t("stateWhy.cordoned")} />;
  return <StateBadge tone="ok" label={t("state.ok")} />;
}

function useColumns(onChange: (host: Host, what: Change) => void): Column<Host>[] {
  const t = useTexts();
  const { may } = useRights();
  const isAdmin = may("admin");
  return useMemo(() => {
    const columns: Column<Host>[] = [
      {
        key: "name",
        title: t("column.name"),
        sort: "name",
        render: (host) => <b title={host.name}>{host.name}</b>,
      },
      { key: "state", title: t("column.state"), width: 120, render: (host) => <HostState host={host} /> },
      {
        key: "heard",
        title: t("column.heard"),
        width: 130,
        from: 560,
        render: (host) => <RelativeTime at={host.heartbeat_at} missing="never" />,
      },
      {
        key: "address",
        title: t("column.address"),
        width: 160,
        from: 700,
        render: (host) => <span className="sb-mono">{host.address}</span>,
      },
      {
        key: "brokers",
        title: t("column.brokers"),
        width: 90,
        align: "right",
        render: (host) => <Count value={host.brokers} />,
      },
      {
        key: "masters",
        title: t("column.masters"),
        width: 90,
        from: 800,
        align: "right",
        render: (host) => <Count value={host.masters} />,
      },
      {
        key: "servers",
        title: t("column.nameServers"),
        width: 120,
        from: 900,
        align: "right",
        render: (host) => <Count value={host.name_servers} />,
      },
      {
        key: "ports",
        title: t("column.ports"),
        width: 130,
        from: 1100,
        align: "right",
        render: (host) => <span className="sb-figure">{`${host.port_low}–${host.port_high}`}</span>,
      },
      {
        key: "version",
        title: t("column.version"),
        width: 120,
        from: 1000,
        render: (host) => host.agent_version,
      },
    ];
    if (isAdmin)
      columns.push({
        key: "actions",
        title: "",
        width: 52,
        align: "right",
        render: (host) => <HostMenu host={host} onChange={onChange} />,
      });
    return columns;
    // The handler is written in place by the screen: a new function is no new column.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [t, isAdmin]);
}

function HostMenu({ host, onChange }: { host: Host; onChange: (host: Host, what: Change) => void }) {
  const t = useTexts();
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon aria-label={t("actionsOf", { name: host.name })}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChange(host, "cordon")}>
          {t(host.is_cordoned ? "cordon.off" : "cordon.on")}
        </Menu.Item>
        <Menu.Item color="red" onClick={() => onChange(host, "remove")}>
          {t("remove.open")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
