/** Another state of access control: brokers and name servers are restarted in turn. */
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { AccessChoice } from "../make/AccessChoice";
import type { AccessState } from "../search";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

export function AccessDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [state, setState] = useState<AccessState>(cluster.access_control);
  const [needsApproval, setNeedsApproval] = useState(false);
  const words = { cluster: cluster.name, state: t(`access.${cluster.access_control}`) };
  const body = { access_control: state, needs_approval: needsApproval };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("access.dialogTitle", words)}
      applyLabel={t("access.apply")}
      canPreview={state !== cluster.access_control}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/access_control/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Text size="sm">{t("access.lead", words)}</Text>
        <AccessChoice value={state} onChange={setState} />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
