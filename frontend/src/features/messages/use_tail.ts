/**
 * Following a topic: long polls, one after the other, while somebody looks. The newest are kept; how many older ones
 * were let go is said. A hidden tab does not ask; it goes on where it stopped.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { get } from "@/shared/api/client";
import { asProblem, type ProblemError } from "@/shared/api/problem";
import type { Message } from "@/shared/message/cells";

export const KEPT = 500;
const WAIT_S = 10;
const RETRY_MS = 3_000;

export interface TailState {
  messages: Message[];
  dropped: number;
  problems: string[];
  error: ProblemError | null;
  isHidden: boolean;
}

const EMPTY: TailState = { messages: [], dropped: 0, problems: [], error: null, isHidden: false };

/** The newest first, at most so many. */
export function withNew(state: TailState, fresh: readonly Message[], problems: string[]): TailState {
  const all = [...[...fresh].reverse(), ...state.messages];
  return {
    messages: all.slice(0, KEPT),
    dropped: state.dropped + Math.max(0, all.length - KEPT),
    problems,
    error: null,
    isHidden: false,
  };
}

export function useTail(cluster: string, topic: string, tag: string, isOn: boolean) {
  const [state, setState] = useState<TailState>(EMPTY);
  const place = useRef<string | null>(null);
  useEffect(() => {
    if (!isOn) return;
    const stop = new AbortController();
    void follow(cluster, topic, tag, place, stop.signal, setState);
    return () => stop.abort();
  }, [cluster, topic, tag, isOn]);
  const clear = useCallback(() => setState(EMPTY), []);
  const restart = useCallback(() => {
    place.current = null;
  }, []);
  return { ...state, clear, restart };
}

type Place = { current: string | null };
type Set = (change: (before: TailState) => TailState) => void;

async function follow(
  cluster: string,
  topic: string,
  tag: string,
  place: Place,
  signal: AbortSignal,
  set: Set,
) {
  while (!signal.aborted) {
    try {
      if (document.visibilityState === "hidden") {
        set((before) => ({ ...before, isHidden: true }));
        await shown(signal);
      }
      const query = {
        topic,
        wait_s: WAIT_S,
        ...(tag && { tag }),
        ...(place.current && { after: place.current }),
      };
      const answer = await get("/clusters/{cluster}/messages/tail/", { params: { cluster }, query, signal });
      place.current = answer.after;
      set((before) => withNew(before, answer.messages, answer.problems));
    } catch (error) {
      if (signal.aborted) return;
      const problem = asProblem(error);
      set((before) => ({ ...before, error: problem }));
      // Four hundreds do not become better by asking again.
      if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) return;
      await new Promise((done) => window.setTimeout(done, RETRY_MS));
    }
  }
}

function shown(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    document.addEventListener("visibilitychange", () => done(), { once: true, signal });
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
