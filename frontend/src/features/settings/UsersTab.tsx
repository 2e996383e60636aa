/** People and their roles: for administrators of the platform. */
import { Anchor, Button, Group, Stack, Switch } from "@mantine/core";
import { IconPlus, IconUsers } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Pager } from "@/shared/list/Pager";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { EmptyState } from "@/shared/ui/EmptyState";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { pageQuery } from "@/shared/url/search";
import { useSearchState } from "@/shared/url/use_search";
import { NewUserDialog } from "./NewUserDialog";
import { settingsSearch } from "./search";
import { useTexts } from "./texts";
import { RoleTag } from "./TokensTab";
import { UserDrawer } from "./UserDrawer";

export type User = Answer<"/users/">["results"][number];

export function UsersTab() {
  const t = useTexts();
  const { search, setSearch } = useSearchState(settingsSearch);
  const [isMaking, setMaking] = useState(false);
  const page = useGet(
    "/users/",
    {
      query: {
        search: search.search,
        ordering: search.sort,
        is_active: search.active || undefined,
        ...pageQuery(search),
      },
    },
    { keepPrevious: true },
  );
  const columns = useUserColumns((name) => setSearch({ user: name, page: search.page }, { replace: false }));
  const isFiltered = search.search !== "" || search.active;
  return (
    <Stack gap="sm">
      <Toolbar>
        <SearchBox
          value={search.search}
          onChange={(text) => setSearch({ search: text })}
          placeholder={t("users.search")}
        />
        <Switch
          label={t("users.activeOnly")}
          checked={search.active}
          onChange={(event) => setSearch({ active: event.currentTarget.checked })}
        />
        <Button ml="auto" leftSection={<IconPlus size={14} />} onClick={() => setMaking(true)}>
          {t("users.new")}
        </Button>
      </Toolbar>
      <DataTable
        label={t("tab.users")}
        columns={columns}
        rows={page.data?.results}
        rowKey={(row) => row.username}
        error={page.error}
        onRetry={() => void page.refetch()}
        isFetching={page.isPlaceholderData}
        sort={search.sort}
        onSort={(sort) => setSearch({ sort: sort as typeof search.sort })}
        onOpen={(row) => setSearch({ user: row.username, page: search.page }, { replace: false })}
        onClearFilters={isFiltered ? () => setSearch({ search: "", active: false }) : undefined}
        empty={<EmptyState icon={<IconUsers size={28} />} title={t("users.empty")} />}
        fill={false}
      />
      <Pager {...search} count={page.data?.count} onChange={setSearch} />
      <NewUserDialog opened={isMaking} onClose={() => setMaking(false)} />
      <UserDrawer username={search.user} onClose={() => setSearch({ user: "", page: search.page })} />
    </Stack>
  );
}

function useUserColumns(onOpen: (name: string) => void): readonly Column<User>[] {
  const t = useTexts();
  return useMemo<Column<User>[]>(
    () => [
      {
        key: "username",
        title: t("users.username"),
        sort: "username",
        render: (row) => (
          <Group gap={8} wrap="nowrap">
            <Anchor component="button" size="sm" fw={600} onClick={() => onOpen(row.username)} truncate>
              {row.username}
            </Anchor>
            {row.is_superuser && <Tag tone="info">{t("users.superuser")}</Tag>}
          </Group>
        ),
      },
      {
        key: "name",
        title: t("users.fullName"),
        width: 160,
        from: 860,
        render: (row) => `${row.first_name} ${row.last_name}`.trim(),
      },
      { key: "team", title: t("users.team"), width: 120, from: 700, render: (row) => row.team },
      { key: "roles", title: t("users.roles"), width: 200, from: 480, render: (row) => <Roles user={row} /> },
      {
        key: "login",
        title: t("users.lastLogin"),
        width: 130,
        from: 600,
        sort: "last_login",
        largestFirst: true,
        render: (row) => <RelativeTime at={row.last_login} missing="never" />,
      },
      {
        key: "state",
        title: t("users.state"),
        width: 124,
        render: (row) => (
          <StateBadge
            tone={row.is_active ? "ok" : "quiet"}
            label={t(row.is_active ? "users.active" : "users.inactive")}
          />
        ),
      },
    ],
    // eslint-disable-next-line react-hooks/exhaustive-deps -- opening somebody is the same whenever it is asked for
    [t],
  );
}

function Roles({ user }: { user: User }) {
  const t = useTexts();
  if (user.is_superuser) return <RoleTag role="admin" />;
  if (user.bindings.length === 0) return <span className="sb-stale">{t("users.noRoles")}</span>;
  const roles = [...new Set(user.bindings.map((binding) => binding.role))];
  return (
    <Group gap={4} wrap="nowrap">
      {roles.map((role) => (
        <RoleTag key={role} role={role} />
      ))}
    </Group>
  );
}
