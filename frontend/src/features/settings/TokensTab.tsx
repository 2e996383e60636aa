/** Tokens for programs: made, shown once, revoked. */
import { Button, Group, Stack, Switch, Text } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Answer, del } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { Toolbar } from "@/shared/list/Toolbar";
import { useRights } from "@/shared/session/session";
import { useShared } from "@/shared/texts/shared";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { notify } from "@/shared/ui/notices";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { useNow } from "@/shared/ui/use_now";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { NewTokenDialog } from "./NewTokenDialog";
import { settingsSearch } from "./search";
import { useTexts } from "./texts";

export type Token = Answer<"/tokens/">["results"][number];

export function TokensTab() {
  const t = useTexts();
  const client = useQueryClient();
  const { may, username } = useRights();
  const { search, setSearch } = useSearchState(settingsSearch);
  const [isMaking, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const isAll = search.all && may("admin");
  const page = useGet(
    "/tokens/",
    { query: { all: isAll || undefined, ...pageQuery(search) } },
    { keepPrevious: true },
  );
  const columns = useTokenColumns(isAll, setRevoked);
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t("tokens.lead")}
      </Text>
      <Toolbar>
        <Button leftSection={<IconPlus size={14} />} onClick={() => setMaking(true)}>
          {t("tokens.new")}
        </Button>
        {may("admin") && (
          <Switch
            label={t("tokens.all")}
            checked={search.all}
            onChange={(event) => setSearch({ all: event.currentTarget.checked })}
          />
        )}
      </Toolbar>
      <DataTable
        label={t("tab.tokens")}
        columns={columns}
        rows={page.data?.results}
        rowKey={(row) => String(row.id)}
        rowName={(row) => row.name}
        error={page.error}
        onRetry={() => void page.refetch()}
        fill={false}
        empty={
          <EmptyState icon={<IconKey size={28} />} title={t("tokens.empty")}>
            {t("tokens.emptyDetail")}
          </EmptyState>
        }
      />
      {(page.data?.count ?? 0) > search.size && (
        <Pager {...search} count={page.data?.count} onChange={setSearch} />
      )}
      <NewTokenDialog opened={isMaking} onClose={() => setMaking(false)} />
      <Confirm
        opened={revoked !== null}
        onClose={() => setRevoked(null)}
        title={t("tokens.revokeTitle", { name: revoked?.name ?? "" })}
        actionLabel={t("tokens.revoke")}
        name={revoked?.owner === username ? undefined : revoked?.name}
        onConfirm={async () => {
          await del("/tokens/{token}/", { params: { token: revoked?.id ?? 0 } });
          notify(t("tokens.revoked_done", { name: revoked?.name ?? "" }));
          await refresh(client, "/tokens/");
        }}
      >
        <Text size="sm">{t("tokens.revokeDetail")}</Text>
      </Confirm>
    </Stack>
  );
}

function useTokenColumns(isAll: boolean, onRevoke: (token: Token) => void): readonly Column<Token>[] {
  const t = useTexts();
  return useMemo<Column<Token>[]>(
    () => [
      { key: "name", title: t("tokens.name"), render: (row) => row.name },
      ...(isAll
        ? [{ key: "owner", title: t("tokens.owner"), width: 120, render: (row: Token) => row.owner }]
        : []),
      {
        key: "role",
        title: t("tokens.role"),
        width: 100,
        from: 480,
        render: (row) => <RoleTag role={row.role} />,
      },
      {
        key: "clusters",
        title: t("tokens.clusters"),
        width: 130,
        from: 700,
        render: (row) => row.cluster_pattern,
      },
      {
        key: "prefix",
        title: t("tokens.prefix"),
        width: 130,
        from: 820,
        render: (row) => <span className="sb-mono">{row.prefix}</span>,
      },
      {
        key: "used",
        title: t("tokens.used"),
        width: 130,
        from: 560,
        render: (row) => <RelativeTime at={row.last_used_at} missing="never" />,
      },
      {
        key: "ends",
        title: t("tokens.ends"),
        width: 120,
        from: 640,
        render: (row) => <RelativeTime at={row.expires_at} />,
      },
      { key: "state", title: t("tokens.state"), width: 110, render: (row) => <TokenState token={row} /> },
      {
        key: "act",
        title: "",
        width: 96,
        align: "right",
        render: (row) => <RevokeButton token={row} onRevoke={onRevoke} />,
      },
    ],
    [t, isAll, onRevoke],
  );
}

export function RoleTag({ role }: { role: Token["role"] }) {
  const t = useShared();
  return <Tag tone={role === "viewer" ? "quiet" : "info"}>{t(`role.${role}`)}</Tag>;
}

function TokenState({ token }: { token: Token }) {
  const t = useTexts();
  const isOver = Date.parse(token.expires_at) < useNow();
  if (token.revoked_at) return <StateBadge tone="quiet" label={t("tokens.revoked")} />;
  return isOver ? (
    <StateBadge tone="quiet" label={t("tokens.expired")} />
  ) : (
    <StateBadge tone="ok" label={t("tokens.active")} />
  );
}

function RevokeButton({ token, onRevoke }: { token: Token; onRevoke: (token: Token) => void }) {
  const t = useTexts();
  if (token.revoked_at) return null;
  return (
    <Group justify="flex-end">
      <Button size="compact-xs" variant="default" onClick={() => onRevoke(token)}>
        {t("tokens.revoke")}
      </Button>
    </Group>
  );
}
