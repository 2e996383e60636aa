/** Small changes of a user: status, kind, a new secret, and its end. */
import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { del, patch } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { Confirm } from "@/shared/ui/Confirm";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ResultView } from "@/shared/ui/plan_views";
import { USERS } from "./EditPolicies";
import type { User } from "./policy";
import { SecretOnce } from "./SecretOnce";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/acl/users/{user}/";

interface Props {
  cluster: string;
  user: User;
  onClose: () => void;
}

export function ChangeUser({ cluster, user, field, onClose }: Props & { field: "status" | "kind" }) {
  const t = useTexts();
  const client = useQueryClient();
  const params = { cluster, user: user.name };
  const body =
    field === "status"
      ? { status: user.status === "enable" ? ("disable" as const) : ("enable" as const) }
      : { kind: user.kind === "Super" ? ("Normal" as const) : ("Super" as const) };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("change.title", { name: user.name })}
      applyLabel={t("change.apply")}
      preview={() => patch(PATH, { params, body, query: { dry_run: true } })}
      apply={() => patch(PATH, { params, body })}
      onApplied={() => void refresh(client, USERS)}
    />
  );
}

export function NewSecret({ cluster, user, onClose }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const params = { cluster, user: user.name };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("change.newSecretTitle", { name: user.name })}
      applyLabel={t("change.newSecretApply")}
      isDanger
      preview={() => Promise.resolve(null)}
      apply={() => patch(PATH, { params, body: { new_secret: true } })}
      onApplied={() => void refresh(client, USERS)}
      renderPlan={() => <Text size="sm">{t("change.newSecretDetail")}</Text>}
      renderResult={(result) => (
        <>
          <ResultView result={result} />
          {"secret" in result && result.secret && <SecretOnce name={user.name} secret={result.secret} />}
        </>
      )}
    />
  );
}

export function DeleteUser({ cluster, user, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  async function remove() {
    await del(PATH, { params: { cluster, user: user.name }, query: { confirm: user.name } });
    onDeleted();
    await refresh(client, USERS);
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={t("remove.title", { name: user.name })}
      name={user.name}
      actionLabel={t("remove.action")}
      onConfirm={remove}
    >
      <Text size="sm">{t("remove.detail")}</Text>
    </Confirm>
  );
}
