/** A new user on all masters; a secret that was made is shown this once. */
import { Select, Stack, TextInput, PasswordInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ResultView } from "@/shared/ui/plan_views";
import { USERS } from "./EditPolicies";
import { SecretOnce } from "./SecretOnce";
import { useTexts } from "./texts";

const SHORTEST = 8;

export function CreateUser({ cluster, onClose }: { cluster: string; onClose: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<"Normal" | "Super">("Normal");
  const [secret, setSecret] = useState("");
  const body = { name: name.trim(), kind, status: "enable" as const, ...(secret === "" ? {} : { secret }) };
  const params = { cluster };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("create.title")}
      applyLabel={t("create.apply")}
      canPreview={name.trim() !== "" && (secret === "" || secret.length >= SHORTEST)}
      preview={() => post(USERS, { params, body, query: { dry_run: true } })}
      apply={() => post(USERS, { params, body })}
      onApplied={() => void refresh(client, USERS)}
      renderResult={(result) => (
        <>
          <ResultView result={result} />
          {"secret" in result && result.secret && <SecretOnce name={body.name} secret={result.secret} />}
        </>
      )}
    >
      <Stack gap="sm">
        <TextInput
          label={t("create.name")}
          description={t("create.nameHint")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          spellCheck={false}
          autoComplete="off"
          data-autofocus
        />
        <Select
          label={t("create.kind")}
          description={t(`kindHint.${kind}`)}
          value={kind}
          onChange={(value) => setKind(value as typeof kind)}
          data={(["Normal", "Super"] as const).map((value) => ({ value, label: t(`kind.${value}`) }))}
        />
        <PasswordInput
          label={t("create.secret")}
          description={t("create.secretHint")}
          value={secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
          autoComplete="new-password"
        />
      </Stack>
    </DryRunDialog>
  );
}
