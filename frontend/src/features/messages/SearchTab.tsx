/** Finding messages while one waits: by an index, or by looking through within a budget, and going on from there. */
import { IconMessage2, IconMessageSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { get } from "@/shared/api/client";
import { shouldRetry } from "@/shared/api/queries";
import { ScanNote } from "@/shared/message/ScanNote";
import { EmptyState } from "@/shared/ui/EmptyState";
import { findQuery, type MessagesSearch } from "./find";
import { MessageTable } from "./MessageTable";
import { NewJob } from "./NewJob";
import { SearchForm } from "./SearchForm";
import type { TabProps } from "./tab_props";
import { useTexts } from "./texts";

export function SearchTab({ cluster, search, setSearch }: TabProps) {
  const t = useTexts();
  const [isMaking, setMaking] = useState(false);
  const found = useFind(cluster, search);
  const messages = useMemo(() => found.data?.pages.flatMap((page) => page.messages), [found.data]);
  const last = found.data?.pages[found.data.pages.length - 1];
  return (
    <>
      <SearchForm
        cluster={cluster}
        search={search}
        isBusy={found.isFetching}
        onFind={(changes) => {
          setSearch(changes, { replace: false });
          // The same question again is asked again.
          if (
            Object.entries(changes).every(([name, value]) => search[name as keyof MessagesSearch] === value)
          )
            void found.refetch();
        }}
        onBackground={(changes) => {
          setSearch(changes);
          setMaking(true);
        }}
      />
      {findQuery(search) === null ? (
        <EmptyState icon={<IconMessageSearch size={28} />} title={t("start")}>
          {t("startDetail")}
        </EmptyState>
      ) : (
        <>
          {last && (
            <ScanNote
              page={last}
              isFetching={found.isFetchingNextPage}
              onContinue={() => void found.fetchNextPage()}
            />
          )}
          <MessageTable
            cluster={cluster}
            label={t("results")}
            messages={messages}
            error={found.error}
            onRetry={() => void found.refetch()}
            isFetching={found.isFetching}
            empty={
              <EmptyState
                icon={<IconMessage2 size={28} />}
                title={t(last?.is_complete ? "nothing" : "nothingPartial")}
              >
                {t(last?.is_complete ? "nothingDetail" : "nothingPartialDetail")}
              </EmptyState>
            }
          />
        </>
      )}
      <NewJob
        cluster={cluster}
        search={search}
        opened={isMaking}
        onClose={() => setMaking(false)}
        onMade={(job) => setSearch({ tab: "jobs", job }, { replace: false })}
      />
    </>
  );
}

/** Every read is noted in the audit, and costs brokers something: nothing is read again unless it is asked for. */
function useFind(cluster: string, search: MessagesSearch) {
  const query = findQuery(search);
  return useInfiniteQuery({
    queryKey: ["/clusters/{cluster}/messages/", cluster, query],
    queryFn: ({ pageParam, signal }) =>
      get("/clusters/{cluster}/messages/", {
        params: { cluster },
        query: { ...(query ?? { topic: "" }), ...(pageParam && { continue: pageParam }) },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (page) => page.continue ?? undefined,
    enabled: query !== null,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: shouldRetry,
  });
}
