/** What can be done with an operation now, by whoever may; each is asked for once more, with what it means. */
import { Button, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { keyOf } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { Confirm } from "@/shared/ui/Confirm";
import { notify } from "@/shared/ui/notices";
import type { Operation } from "./operation_data";
import { BY_ADMIN, type Verb, verbsFor } from "./steps";
import { useTexts } from "./texts";

export function VerbButtons({ id, operation }: { id: string; operation: Operation }) {
  const t = useTexts();
  const { may, username } = useRights();
  const [asked, setAsked] = useState<Verb | null>(null);
  const client = useQueryClient();
  const cluster = operation.cluster ?? undefined;
  const isUndoing = operation.steps.some((step) => step.is_undo);
  const verbs = verbsFor(operation.state, isUndoing).filter((verb) => {
    if (verb === "approve") return may("admin", cluster) && operation.created_by !== username;
    return may(BY_ADMIN.has(operation.kind) ? "admin" : "operator", cluster);
  });
  async function carryOut(verb: Verb) {
    const changed = await post(`/operations/{operation}/${verb}/`, { params: { operation: id } });
    client.setQueryData(keyOf("/operations/{operation}/", { params: { operation: id } }), changed);
    notify(t(`done.${verb}`));
  }
  return (
    <>
      {verbs.map((verb) => (
        <Button
          key={verb}
          variant={verb === "approve" || verb === "retry" ? "filled" : "default"}
          onClick={() => setAsked(verb)}
        >
          {t(`verb.${verb}`)}
        </Button>
      ))}
      {asked && (
        <Confirm
          opened
          onClose={() => setAsked(null)}
          title={t(`verb.${asked}`)}
          actionLabel={t(`verb.${asked}`)}
          isDanger={asked === "roll_back" || asked === "give_up"}
          onConfirm={() => carryOut(asked)}
        >
          <Text size="sm">{t(`ask.${asked}`)}</Text>
        </Confirm>
      )}
    </>
  );
}
