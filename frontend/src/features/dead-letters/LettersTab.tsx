/** The letters: where they came from, how often they were tried, how the last try ended, what a redrive made of them. */
import { Button, Group, Text, TextInput } from "@mantine/core";
import { IconMailX, IconRotateClockwise, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { get } from "@/shared/api/client";
import { shouldRetry } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { BodyLine, KeysCell, StoredAt, TagCell } from "@/shared/message/cells";
import { ScanNote } from "@/shared/message/ScanNote";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import type { components } from "@/types/api.gen";
import { LetterDrawer } from "./LetterDrawer";
import { OutcomeBadge, type OutcomeState } from "./RedriveState";
import type { GroupSearch, TabProps } from "./tab_props";
import { useTexts } from "./texts";

export type Letter = components["schemas"]["DeadLetter"];
const FILTERS = ["key", "tag", "body", "sql"] as const;

export function LettersTab({ cluster, group, search, setSearch, onRedrive }: TabProps) {
  const t = useTexts();
  const rights = useRights();
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const found = useLetters(cluster, group, search);
  const letters = useMemo(() => found.data?.pages.flatMap((page) => page.messages), [found.data]);
  const last = found.data?.pages[found.data.pages.length - 1];
  const columns = useColumns();
  const mayRedrive = rights.may("operator", cluster, group);
  const isFiltered = FILTERS.some((name) => search[name] !== "");
  const open = letters?.find((letter) => letter.offset_id === search.letter);
  return (
    <>
      <Filters
        key={FILTERS.map((name) => search[name]).join("\n")}
        search={search}
        onFind={(changes) => setSearch(changes, { replace: false })}
      />
      <Group gap="md" mih={34}>
        {last && (
          <ScanNote
            page={last}
            isFetching={found.isFetchingNextPage}
            onContinue={() => void found.fetchNextPage()}
          />
        )}
        {selected.size > 0 && (
          <Group gap="xs">
            <Text size="sm">{t("selected", { count: selected.size })}</Text>
            <Button
              size="compact-xs"
              leftSection={<IconRotateClockwise size={13} />}
              onClick={() => onRedrive([...selected])}
            >
              {t("redriveSelected", { count: selected.size })}
            </Button>
          </Group>
        )}
      </Group>
      <DataTable
        label={t("letters", { group })}
        columns={columns}
        rows={letters}
        rowKey={(letter) => letter.offset_id}
        rowName={(letter) => letter.msg_id}
        error={found.error}
        onRetry={() => void found.refetch()}
        isFetching={found.isFetching}
        selection={mayRedrive ? { keys: selected, onChange: select } : undefined}
        onOpen={(letter) => setSearch({ letter: letter.offset_id }, { replace: false })}
        empty={
          <EmptyState
            icon={<IconMailX size={28} />}
            title={t(isFiltered ? "lettersNothing" : "lettersEmpty")}
          />
        }
      />
      <LetterDrawer
        cluster={cluster}
        group={group}
        letter={open}
        id={search.letter}
        onClose={() => setSearch({ letter: "" }, { replace: false })}
      />
    </>
  );
}

function useLetters(cluster: string, group: string, search: GroupSearch) {
  const given = {
    key: search.key,
    tag: search.tag,
    body: search.body,
    sql: search.sql,
    begin: search.begin,
    end: search.end,
  };
  const filters = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
  return useInfiniteQuery({
    queryKey: ["/clusters/{cluster}/dlq/{group}/", cluster, group, filters],
    queryFn: ({ pageParam, signal }) =>
      get("/clusters/{cluster}/dlq/{group}/", {
        params: { cluster, group },
        query: {
          ...filters,
          reasons: true,
          limit: 100,
          max_seconds: 5,
          ...(pageParam && { continue: pageParam }),
        },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (page) => page.continue ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    retry: shouldRetry,
  });
}

function Filters({
  search,
  onFind,
}: {
  search: GroupSearch;
  onFind: (changes: Partial<GroupSearch>) => void;
}) {
  const t = useTexts();
  const [draft, setDraft] = useState(
    () =>
      Object.fromEntries(FILTERS.map((name) => [name, search[name]])) as Record<
        (typeof FILTERS)[number],
        string
      >,
  );
  const isFiltered = FILTERS.some((name) => search[name] !== "");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onFind(draft);
      }}
    >
      <Group gap="sm" align="flex-end">
        {FILTERS.map((name) => (
          <TextInput
            key={name}
            label={t(`filter.${name}`)}
            value={draft[name]}
            onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
            spellCheck={false}
            w={name === "sql" ? 220 : 140}
          />
        ))}
        <Button type="submit" variant="default" leftSection={<IconSearch size={14} />}>
          {t("filter.find")}
        </Button>
        {isFiltered && (
          <Button variant="subtle" onClick={() => onFind({ key: "", tag: "", body: "", sql: "" })}>
            {t("filter.clear")}
          </Button>
        )}
      </Group>
    </form>
  );
}

function useColumns(): Column<Letter>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "died", title: t("column.died"), width: 216, render: (row) => <StoredAt at={row.stored_at} /> },
      {
        key: "reason",
        title: t("column.reason"),
        width: 120,
        from: 560,
        render: (row) =>
          row.reason === null ? <Unknown why={t("why.reason")} /> : <Tag tone="bad">{row.reason}</Tag>,
      },
      {
        key: "origin",
        title: t("column.origin"),
        width: 150,
        from: 720,
        render: (row) => <span title={row.origin_topic}>{row.origin_topic}</span>,
      },
      {
        key: "tag",
        title: t("column.tag"),
        width: 110,
        from: 900,
        render: (row) => <TagCell tag={row.tags} />,
      },
      {
        key: "keys",
        title: t("column.keys"),
        width: 140,
        from: 480,
        render: (row) => <KeysCell keys={row.keys} />,
      },
      { key: "body", title: t("column.body"), render: (row) => <BodyLine body={row.body} /> },
      {
        key: "tries",
        title: t("column.tries"),
        width: 64,
        from: 820,
        align: "right",
        render: (row) => row.tries,
      },
      {
        key: "redriven",
        title: t("column.redriven"),
        width: 118,
        from: 640,
        render: (row) => row.redriven && <OutcomeBadge state={row.redriven as OutcomeState} />,
      },
    ],
    [t],
  );
}
