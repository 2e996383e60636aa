/**
 * Live rows for screens.
 *
 *     const live = useLive(`cluster/${cluster}`);                       rows by name, as they are now
 *     const page = useLiveList(query, `topics/${cluster}?…`, (row) => row.name);   a list that was read, kept fresh
 *     const every = usePolling();                                       refetchInterval of what live rows replace
 */
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { mergeList, type Row, type Rows, type Told } from "./messages";
import { LiveSocket, type Wire } from "./socket";

export const POLL_MS = 10_000;
const MOST_NAMES = 200;

export const liveSocket = new LiveSocket({
  open: () => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    return new WebSocket(`${scheme}://${location.host}/ws/v1/`) as unknown as Wire;
  },
  later: (action, ms) => window.setTimeout(action, ms),
  forget: (timer) => {
    window.clearTimeout(timer);
  },
});

export function useLiveState() {
  return useSyncExternalStore(
    (listener) => liveSocket.watch(listener),
    () => liveSocket.state,
  );
}

/** How often to ask where the socket is dead; false while it is live. */
export function usePolling(): number | false {
  return useLiveState() === "polling" ? POLL_MS : false;
}

export interface Live<R extends Row> {
  /** Undefined: nothing was told yet. */
  rows: Record<string, R> | undefined;
  sampledAt: string | null;
  /** The code of why this channel is not told, such as `not_found`. */
  error: string | null;
}

interface Heard {
  channel: string | null;
  told: Told | undefined;
  error: string | null;
}

/** Null: no channel is wanted. */
export function useLive<R extends Row = Row>(channel: string | null): Live<R> {
  const [heard, setHeard] = useState<Heard>({ channel, told: undefined, error: null });
  useEffect(() => {
    if (channel === null) return;
    return liveSocket.subscribe(channel, (told, error) => {
      setHeard((before) => ({
        channel,
        told: told ?? (error !== null && before.channel === channel ? before.told : undefined),
        error: error?.code ?? null,
      }));
    });
  }, [channel]);
  const isOurs = heard.channel === channel;
  return {
    rows: isOurs ? (heard.told?.rows as Record<string, R> | undefined) : undefined,
    sampledAt: (isOurs && heard.told?.sampledAt) || null,
    error: isOurs ? heard.error : null,
  };
}

/** Several channels at once, by their names: the totals of all clusters of a fleet. */
export function useLives<R extends Row = Row>(channels: readonly string[]): Record<string, Live<R>> {
  const [heard, setHeard] = useState<Record<string, Live<R>>>({});
  const names = channels.join("\n");
  useEffect(() => {
    const listed = names === "" ? [] : names.split("\n");
    const leave = listed.map((channel) =>
      liveSocket.subscribe(channel, (told, error) => {
        setHeard((before) => ({
          ...before,
          [channel]: {
            rows: (error === null ? told?.rows : before[channel]?.rows) as Record<string, R> | undefined,
            sampledAt: (error === null ? told?.sampledAt : before[channel]?.sampledAt) ?? null,
            error: error?.code ?? null,
          },
        }));
      }),
    );
    return () => {
      for (const one of leave) one();
    };
  }, [names]);
  return heard;
}

/** The channel of these names: `namedChannel("groups", cluster, names)`; null without names. */
export function namedChannel(
  kind: "groups" | "topics" | "routing",
  cluster: string,
  names: readonly string[],
): string | null {
  if (names.length === 0) return null;
  const listed = [...names].slice(0, MOST_NAMES).sort().map(encodeURIComponent).join(",");
  return `${kind}/${encodeURIComponent(cluster)}?names=${listed}`;
}

/** A list that was read, with what is newer of its rows. `sampledAt` is the newer of the two ages. */
export function useLiveList<T extends object>(
  list: T[] | undefined,
  channel: string | null,
  nameOf: (row: T) => string,
): { rows: T[] | undefined; sampledAt: string | null } {
  const { rows, sampledAt } = useLive(channel);
  const merged = useMemo(
    () => (list && rows ? mergeList(list, rows as Rows, nameOf) : list),
    // nameOf is written in place by callers: a new function is no new name.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [list, rows],
  );
  return { rows: merged, sampledAt };
}
