/** Another release of the engine, broker by broker. */
import { Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

export function UpgradeDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [release, setRelease] = useState("");
  const [needsApproval, setNeedsApproval] = useState(false);
  const words = { cluster: cluster.name, release: cluster.release };
  const body = { release, needs_approval: needsApproval };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("upgrade.title", words)}
      applyLabel={t("upgrade.apply")}
      canPreview={release !== ""}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/upgrade/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Text size="sm">{t("upgrade.lead", words)}</Text>
        <TextInput
          label={t("upgrade.release")}
          description={t("upgrade.releaseHint", words)}
          value={release}
          onChange={(event) => setRelease(event.currentTarget.value.trim())}
          data-autofocus
          spellCheck={false}
        />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
