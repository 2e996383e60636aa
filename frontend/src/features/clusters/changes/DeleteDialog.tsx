/** A cluster goes: its name must be typed. An attached one is only forgotten. */
import { Checkbox, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { del } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { Confirm } from "@/shared/ui/Confirm";
import { notify } from "@/shared/ui/notices";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import type { DialogProps } from "./Approval";

export function DeleteDialog(props: DialogProps) {
  return props.cluster.kind === "attached" ? <Detach {...props} /> : <Delete {...props} />;
}

function Delete({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [keepData, setKeepData] = useState(true);
  const { name } = cluster;
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("delete.title", { cluster: name })}
      applyLabel={t("delete.apply")}
      confirmName={name}
      isDanger
      ask={(isDryRun) =>
        del("/clusters/{cluster}/", {
          params: { cluster: name },
          query: { confirm: name, keep_data: keepData, dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Checkbox
          label={t("delete.keep")}
          description={t("delete.keepHint")}
          checked={keepData}
          onChange={(event) => setKeepData(event.currentTarget.checked)}
        />
      </Stack>
    </OperationDialog>
  );
}

function Detach({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const client = useQueryClient();
  const navigate = useNavigate();
  const words = { cluster: cluster.name };
  async function detach() {
    await del("/clusters/{cluster}/", { params: words, query: { confirm: cluster.name } });
    notify(t("delete.detached", words));
    await navigate({ to: "/" });
    await refresh(client, "/fleet/", "/clusters/");
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={t("delete.detachTitle", words)}
      actionLabel={t("delete.detachApply")}
      name={cluster.name}
      onConfirm={detach}
    >
      <Text size="sm">{t("delete.detachAsk")}</Text>
    </Confirm>
  );
}
