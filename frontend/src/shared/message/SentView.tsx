/** What a send came to: sent, refused, or unsure; never a green tick for something that nobody knows. */
import { Alert, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { asProblem, type ProblemError } from "@/shared/api/problem";
import type { components } from "@/types/api.gen";
import { CopyButton } from "@/shared/ui/CopyButton";
import { KeyValue } from "@/shared/ui/KeyValue";
import { TONED } from "@/shared/ui/plan_views";
import { useTexts } from "./texts";

export type Sent = components["schemas"]["Sent"];
const TONES = { sent: "sb-ok", refused: "sb-bad", unsure: "sb-warn" } as const;

/** A send that was refused or is unsure is answered with 422 or 504, and with what became of it. */
export function sentOf(error: unknown): Sent | null {
  const problem: ProblemError = asProblem(error);
  const { fate } = problem.extra;
  return fate === "refused" || fate === "unsure"
    ? ({ ...problem.extra, detail: problem.detail } as unknown as Sent)
    : null;
}

export function SentView({ sent, children }: { sent: Sent; children?: ReactNode }) {
  const t = useTexts();
  const shown = useRef<HTMLDivElement>(null);
  // It stands below a long form: what became of the message must be seen without looking for it.
  useEffect(() => {
    void shown.current?.scrollIntoView({ block: "nearest" });
  }, [sent]);
  return (
    <Alert
      ref={shown}
      className={TONES[sent.fate]}
      styles={TONED}
      title={t(`sent.${sent.fate}`)}
      role="status"
    >
      <Stack gap="xs">
        {sent.detail && (
          <Text size="sm" lang="en">
            {sent.detail}
          </Text>
        )}
        {sent.fate === "unsure" && <Text size="sm">{t("sent.unsureAdvice")}</Text>}
        <KeyValue
          items={[
            sent.status ? [t("sent.status"), sent.status] : null,
            sent.queue === null
              ? null
              : [
                  t("sent.place"),
                  t("place", { broker: sent.broker, queue: sent.queue, offset: sent.queue_offset ?? "" }),
                ],
            sent.msg_id ? [t("sent.id"), <Id key="id" value={sent.msg_id} name={t("sent.id")} />] : null,
            sent.offset_id
              ? [t("sent.offsetId"), <Id key="at" value={sent.offset_id} name={t("sent.offsetId")} />]
              : null,
            sent.transaction ? [t("sent.transaction"), sent.transaction] : null,
            sent.rocketmq_code === null ? null : [t("sent.code"), String(sent.rocketmq_code)],
          ]}
        />
        {children}
      </Stack>
    </Alert>
  );
}

export function Id({ value, name }: { value: string; name: string }) {
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 4 }}>
      <span className="sb-mono">{value}</span>
      <CopyButton value={value} name={name} />
    </span>
  );
}
