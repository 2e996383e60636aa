/** The list of users, as all brokers have them together. */
import { Alert, Button, Text, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconRefresh } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Answer } from "@/shared/api/client";
import type { ProblemError } from "@/shared/api/problem";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import type { SearchOf } from "@/shared/url/search";
import { CreateUser } from "./CreateUser";
import type { User } from "./policy";
import type { aclSearch } from "./search";
import { useTexts } from "./texts";
import { UserDrawer } from "./UserDrawer";

type Search = SearchOf<typeof aclSearch>;

interface Props {
  cluster: string;
  read: UseQueryResult<Answer<"/clusters/{cluster}/acl/users/">, ProblemError>;
  search: Search;
  setSearch: (changes: Partial<Search>) => void;
}

export function Users({ cluster, read, search, setSearch }: Props) {
  const t = useTexts();
  const shared = useShared();
  const [isCreating, create] = useDisclosure(false);
  const part = search.search.toLowerCase();
  const users = read.data?.users;
  const rows = useMemo(() => users?.filter((user) => user.name.toLowerCase().includes(part)), [users, part]);
  const open = users?.find((user) => user.name === search.user);
  const silent = (read.data?.brokers ?? []).filter((broker) => !broker.ok).map((broker) => broker.broker);
  return (
    <>
      <Toolbar>
        <SearchBox
          value={search.search}
          onChange={(text) => setSearch({ search: text })}
          placeholder={t("list.search")}
        />
        <Text size="xs" c="dimmed" style={{ flex: 1 }}>
          {t("list.asked")}
        </Text>
        <Button
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={read.isFetching}
          onClick={() => void read.refetch()}
        >
          {shared("action.refresh")}
        </Button>
        <Button leftSection={<IconPlus size={14} />} onClick={create.open}>
          {t("list.create")}
        </Button>
      </Toolbar>
      {silent.length > 0 && (
        <Alert className="sb-warn" styles={TONED} mb="sm">
          {t("list.partial", { brokers: silent.join(", ") })}
        </Alert>
      )}
      <DataTable
        label={t("list.label", { cluster })}
        columns={useColumns()}
        rows={rows}
        rowKey={(user) => user.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        onOpen={(user) => setSearch({ user: user.name })}
        onClearFilters={part === "" ? undefined : () => setSearch({ search: "" })}
        empty={<EmptyState title={t("list.empty")}>{t("list.emptyDetail")}</EmptyState>}
      />
      {isCreating && <CreateUser cluster={cluster} onClose={create.close} />}
      {open && (
        <UserDrawer
          cluster={cluster}
          user={open}
          onClose={() => setSearch({ user: "" })}
          onAsk={() => setSearch({ tab: "explain", user: open.name })}
        />
      )}
    </>
  );
}

function useColumns(): readonly Column<User>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "name", title: t("column.name"), render: (user) => <b>{user.name}</b> },
      {
        key: "kind",
        title: t("column.kind"),
        width: 110,
        render: (user) => (
          <Tooltip label={t(`kindHint.${user.kind}`)}>
            <span>
              <Tag tone={user.kind === "Super" ? "warn" : "quiet"}>{t(`kind.${user.kind}`)}</Tag>
            </span>
          </Tooltip>
        ),
      },
      {
        key: "status",
        title: t("column.status"),
        width: 124,
        render: (user) => (
          <StateBadge tone={user.status === "enable" ? "ok" : "quiet"} label={t(`status.${user.status}`)} />
        ),
      },
      {
        key: "policies",
        title: t("column.policies"),
        width: 90,
        align: "right",
        from: 520,
        render: (user) => user.policies.length,
      },
      {
        key: "drift",
        title: t("column.drift"),
        width: 140,
        from: 640,
        render: (user) => <Alike user={user} />,
      },
      {
        key: "known",
        title: t("column.known"),
        width: 130,
        from: 780,
        render: (user) => (
          <Tooltip label={t(user.has_known_secret ? "secretKnownWhy" : "secretUnknownWhy")}>
            <span>{t(user.has_known_secret ? "secretKnown" : "secretUnknown")}</span>
          </Tooltip>
        ),
      },
      {
        key: "brokers",
        title: t("column.brokers"),
        width: 220,
        from: 940,
        render: (user) => user.brokers.join(", "),
      },
    ],
    [t],
  );
}

function Alike({ user }: { user: User }) {
  const t = useTexts();
  if (user.drift.length > 0)
    return <StateBadge state="degraded" label={t("differs", { count: user.drift.length })} />;
  if (user.unknown_on.length > 0)
    return <Unknown why={t("notSaid", { brokers: user.unknown_on.join(", ") })} />;
  return t("alike");
}
