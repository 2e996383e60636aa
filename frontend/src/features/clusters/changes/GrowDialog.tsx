/** More broker groups, slaves or name servers. */
import { Checkbox, MultiSelect, NumberInput, SegmentedControl, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import { HostChoice } from "../make/HostChoice";
import { Approval, type DialogProps } from "./Approval";

const WHAT = ["group", "slave", "server"] as const;
type What = (typeof WHAT)[number];

export function GrowDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const [what, setWhat] = useState<What>("group");
  const [count, setCount] = useState(1);
  const [slaves, setSlaves] = useState(
    Math.max(0, ...cluster.group_rows.map((group) => group.members.length - 1)),
  );
  const [toGroups, setToGroups] = useState<string[]>([]);
  const [hosts, setHosts] = useState<string[]>([]);
  const [mayShare, setMayShare] = useState(false);
  const [needsApproval, setNeedsApproval] = useState(false);
  const body = {
    groups: what === "group" ? count : 0,
    slaves: what === "group" ? slaves : what === "slave" ? count : 0,
    name_servers: what === "server" ? count : 0,
    ...(what === "slave" && toGroups.length > 0 ? { to_groups: toGroups } : {}),
    ...(hosts.length > 0 ? { hosts } : {}),
    allow_same_host: mayShare,
    needs_approval: needsApproval,
  };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("grow.title", { cluster: cluster.name })}
      applyLabel={t("grow.apply")}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/grow/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <SegmentedControl
          aria-label={t("grow.what")}
          value={what}
          onChange={(value) => setWhat(value as What)}
          data={WHAT.map((one) => ({ value: one, label: t(`grow.${one}`) }))}
        />
        <NumberInput
          label={t("grow.count")}
          min={1}
          max={what === "group" ? 64 : 9}
          value={count}
          onChange={(value) => setCount(Number(value) || 1)}
        />
        {what === "group" && (
          <NumberInput
            label={t("grow.slavesEach")}
            min={0}
            max={8}
            value={slaves}
            onChange={(value) => setSlaves(Number(value) || 0)}
          />
        )}
        {what === "slave" && (
          <MultiSelect
            label={t("grow.toGroups")}
            placeholder={toGroups.length === 0 ? t("restart.allGroups") : ""}
            data={cluster.group_rows.map((group) => group.name)}
            value={toGroups}
            onChange={setToGroups}
          />
        )}
        {what === "server" && <Text size="sm">{t("grow.serverHint")}</Text>}
        <HostChoice value={hosts} onChange={setHosts} />
        <Checkbox
          label={t("make.sameHost")}
          description={t("make.sameHostHint")}
          checked={mayShare}
          onChange={(event) => setMayShare(event.currentTarget.checked)}
        />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
