/** Short messages in the corner: what was done, what could not be. They go by themselves; failures stay longer. */
import { Notification, Stack } from "@mantine/core";
import { type ReactNode, useSyncExternalStore } from "react";
import { asProblem } from "@/shared/api/problem";
import { useShared } from "@/shared/texts/shared";
import { ProblemWords } from "./ProblemWords";
import type { Tone } from "./StateBadge";

interface Notice {
  id: number;
  tone: Tone;
  title: string;
  detail?: ReactNode;
}

const SHOWN_MS = 5_000;
const FAILED_MS = 12_000;
let notices: readonly Notice[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Notice[]) {
  notices = next;
  for (const listener of listeners) listener();
}

export function notify(title: string, detail?: ReactNode, tone: Tone = "ok") {
  lastId += 1;
  const id = lastId;
  set([...notices.slice(-3), { id, tone, title, detail }]);
  window.setTimeout(() => dismiss(id), tone === "bad" ? FAILED_MS : SHOWN_MS);
}

export function notifyProblem(title: string, error: unknown) {
  const { code, detail } = asProblem(error);
  notify(title, <ProblemWords code={code} detail={detail} />, "bad");
}

function dismiss(id: number) {
  set(notices.filter((notice) => notice.id !== id));
}

const MARKS: Record<Tone, string> = { ok: "teal", bad: "red", warn: "yellow", info: "blue", quiet: "gray" };

export function Notices() {
  const t = useShared();
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => notices,
  );
  return (
    <Stack
      gap="xs"
      pos="fixed"
      bottom={16}
      right={16}
      w="min(360px, calc(100vw - 32px))"
      style={{ zIndex: 500 }}
      role="status"
    >
      {shown.map((notice) => (
        <Notification
          key={notice.id}
          color={MARKS[notice.tone]}
          title={notice.title}
          onClose={() => dismiss(notice.id)}
          closeButtonProps={{ "aria-label": t("action.close") }}
          withBorder
        >
          {notice.detail}
        </Notification>
      ))}
    </Stack>
  );
}
