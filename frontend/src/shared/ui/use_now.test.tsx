import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { useNow } from "./use_now";

function Now({ tell }: { tell: (now: number) => void }) {
  tell(useNow());
  return null;
}

afterEach(() => {
  vi.useRealTimers();
});

test("what is drawn after a while without any age is not of the future", () => {
  vi.useFakeTimers();
  const told: number[] = [];
  const draw = () => {
    const root = createRoot(document.createElement("div"));
    flushSync(() => root.render(<Now tell={(now) => told.push(now)} />));
    return root;
  };
  draw().unmount();
  vi.advanceTimersByTime(60_000);
  const root = draw();
  expect(told.at(-1)).toBe(Date.now());
  vi.advanceTimersByTime(3_000);
  flushSync(() => undefined);
  expect(told.at(-1)).toBe(Date.now());
  root.unmount();
});
