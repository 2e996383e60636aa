/** A new way to people: a webhook or mail. */
import { Modal, PasswordInput, SegmentedControl, TagsInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem, type ProblemError } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import { fieldError } from "@/shared/ui/ProblemWords";
import { FormFrame } from "./FormFrame";
import { useTexts } from "./texts";

export function ChannelForm({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("channels.new")}>
      <Form onClose={onClose} />
    </Modal>
  );
}

interface Draft {
  name: string;
  kind: "webhook" | "mail";
  url: string;
  secret: string;
  recipients: string[];
}

function Form({ onClose }: { onClose: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>({
    name: "",
    kind: "webhook",
    url: "",
    secret: "",
    recipients: [],
  });
  const set = (changes: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...changes }));
  const isMail = draft.kind === "mail";
  const make = useMutation({
    mutationFn: () => {
      const { name, kind, url, secret, recipients } = draft;
      return post("/alerts/channels/", {
        body: isMail ? { name, kind, recipients } : { name, kind, url, ...(secret && { secret }) },
      });
    },
    onSuccess: async () => {
      onClose();
      await refresh(client, "/alerts/channels/");
    },
  });
  const problem = asProblem(make.error);
  const isReady = draft.name.trim() !== "" && (isMail ? draft.recipients.length > 0 : draft.url !== "");
  return (
    <FormFrame isReady={isReady} act={make} actionLabel={t("form.create")} onClose={onClose}>
      <SegmentedControl
        aria-label={t("channels.kind")}
        value={draft.kind}
        onChange={(kind) => set({ kind: kind as typeof draft.kind })}
        data={(["webhook", "mail"] as const).map((kind) => ({ value: kind, label: t(`channels.${kind}`) }))}
      />
      <TextInput
        label={t("form.name")}
        value={draft.name}
        error={fieldError(problem, "name")}
        required
        maxLength={64}
        data-autofocus
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TargetFields draft={draft} set={set} problem={problem} />
    </FormFrame>
  );
}

interface TargetProps {
  draft: Draft;
  set: (changes: Partial<Draft>) => void;
  problem: ProblemError;
}

function TargetFields({ draft, set, problem }: TargetProps) {
  const t = useTexts();
  if (draft.kind === "mail") {
    return (
      <TagsInput
        label={t("channels.recipients")}
        description={t("channels.recipientsHint")}
        value={draft.recipients}
        onChange={(recipients) => set({ recipients })}
        maxTags={20}
        size="xs"
      />
    );
  }
  return (
    <>
      <TextInput
        label={t("channels.url")}
        description={t("channels.urlHint")}
        type="url"
        value={draft.url}
        error={fieldError(problem, "url")}
        required
        onChange={(event) => set({ url: event.currentTarget.value })}
      />
      <PasswordInput
        label={t("channels.secret")}
        description={t("channels.secretHint")}
        value={draft.secret}
        error={fieldError(problem, "secret")}
        autoComplete="new-password"
        onChange={(event) => set({ secret: event.currentTarget.value })}
      />
    </>
  );
}
