/** A rolling restart of all broker groups or of some. */
import { Checkbox, MultiSelect, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

export function RestartDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [groups, setGroups] = useState<string[]>([]);
  const [withServers, setWithServers] = useState(false);
  const [needsApproval, setNeedsApproval] = useState(false);
  const body = {
    groups: groups.length === 0 ? null : groups,
    name_servers: withServers,
    needs_approval: needsApproval,
  };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("restart.title", { cluster: cluster.name })}
      applyLabel={t("restart.apply")}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/restart/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Text size="sm">{t("restart.lead")}</Text>
        <MultiSelect
          label={t("restart.groups")}
          placeholder={groups.length === 0 ? t("restart.allGroups") : ""}
          data={cluster.group_rows.map((group) => group.name)}
          value={groups}
          onChange={setGroups}
        />
        <Checkbox
          label={t("restart.nameServers")}
          checked={withServers}
          onChange={(event) => setWithServers(event.currentTarget.checked)}
        />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
