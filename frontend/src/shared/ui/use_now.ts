/** The time, once a second, from one timer for all ages of a page; none ticks in a hidden tab. */
import { useSyncExternalStore } from "react";
import { serverNow } from "@/shared/format/clock";

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let timer: number | undefined;
let now = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    // While nothing showed an age nobody looked at the clock: what is new would seem to be of the future.
    now = Date.now();
    timer = window.setInterval(tick, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

function tick() {
  if (document.visibilityState === "hidden") return;
  now = Date.now();
  for (const listener of listeners) listener();
}

/** Milliseconds since 1970, at the console. */
export function useNow(): number {
  return serverNow(useSyncExternalStore(subscribe, () => now));
}
