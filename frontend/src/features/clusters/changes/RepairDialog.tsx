/** What is down is started; what runs with other settings is restarted in turn. */
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

export function RepairDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [needsApproval, setNeedsApproval] = useState(false);
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("repair.title", { cluster: cluster.name })}
      applyLabel={t("repair.apply")}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/repair/", {
          params: { cluster: cluster.name },
          body: { needs_approval: needsApproval },
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Text size="sm">{t("repair.lead")}</Text>
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
