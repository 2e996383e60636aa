/** A slave becomes master. */
import { Checkbox, Modal, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

export function PromoteDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const groups = cluster.group_rows.filter((group) => group.members.length > 1);
  const [name, setName] = useState(groups[0]?.name ?? "");
  const [member, setMember] = useState("");
  const [isUnclean, setUnclean] = useState(false);
  const [needsApproval, setNeedsApproval] = useState(false);
  const title = t("promote.title", { cluster: cluster.name });
  const group = groups.find((one) => one.name === name);
  if (group === undefined) {
    return (
      <Modal opened onClose={onClose} title={title}>
        <Text size="sm">{t("promote.none")}</Text>
      </Modal>
    );
  }
  const slaves = group.members.filter((one) => !one.is_master);
  const body = {
    group: name,
    member: member === "" ? null : Number(member),
    unclean: isUnclean,
    needs_approval: needsApproval,
  };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={title}
      applyLabel={t("promote.apply")}
      isDanger={isUnclean}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/promote/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Select
          label={t("promote.group")}
          data={groups.map((one) => one.name)}
          value={name}
          onChange={(value) => {
            setName(value ?? "");
            setMember("");
          }}
        />
        <Select
          label={t("promote.member")}
          data={[
            { value: "", label: t("promote.any") },
            ...slaves.map((one) => ({ value: String(one.member), label: one.label })),
          ]}
          value={member}
          onChange={(value) => setMember(value ?? "")}
        />
        <Checkbox
          label={t("promote.unclean")}
          description={t("promote.uncleanHint")}
          checked={isUnclean}
          onChange={(event) => setUnclean(event.currentTarget.checked)}
        />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
