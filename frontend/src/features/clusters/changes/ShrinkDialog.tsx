/** A broker group or a slave goes; a group only when it has been read. */
import { Modal, Select, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import type { Cluster } from "../cluster_data";
import { linesOf } from "../labels";
import { useTexts } from "../texts";
import { Approval, type DialogProps } from "./Approval";

const DATA = ["trash", "leave", "remove"] as const;

interface Removable {
  value: string;
  group: string;
  member: number | null;
}

function removableOf(cluster: Cluster): Removable[] {
  const groups =
    cluster.group_rows.length < 2
      ? []
      : cluster.group_rows.map((group) => ({ value: group.name, group: group.name, member: null }));
  const slaves = cluster.group_rows.flatMap((group) =>
    group.members
      .filter((member) => !member.is_master)
      .map((member) => ({
        value: `${group.name}/${member.member}`,
        group: group.name,
        member: member.member,
      })),
  );
  return [...slaves, ...groups];
}

export function ShrinkDialog({ cluster, onClose }: DialogProps) {
  const t = useTexts();
  const removable = removableOf(cluster);
  const [chosen, setChosen] = useState(removable[0]?.value ?? "");
  const [ignored, setIgnored] = useState("");
  const [data, setData] = useState<(typeof DATA)[number]>("trash");
  const [needsApproval, setNeedsApproval] = useState(false);
  const title = t("shrink.title", { cluster: cluster.name });
  const what = removable.find((one) => one.value === chosen);
  if (what === undefined) {
    return (
      <Modal opened onClose={onClose} title={title}>
        <Text size="sm">{t("shrink.none")}</Text>
      </Modal>
    );
  }
  const name = what.member === null ? what.group : `${what.group}-${what.member}`;
  const body = {
    group: what.group,
    member: what.member,
    ignore_groups: what.member === null ? linesOf(ignored) : [],
    data,
    needs_approval: needsApproval,
  };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={title}
      applyLabel={t("shrink.apply")}
      isDanger
      confirmName={name}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/shrink/", {
          params: { cluster: cluster.name },
          body,
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Select
          label={t("shrink.what")}
          value={chosen}
          onChange={(value) => setChosen(value ?? "")}
          data={removable.map((one) => ({
            value: one.value,
            label:
              one.member === null
                ? t("shrink.wholeGroup", { name: one.group })
                : t("shrink.slave", { name: `${one.group}-${one.member}` }),
          }))}
        />
        {what.member === null && (
          <>
            <Text size="sm">{t("shrink.lead")}</Text>
            <Textarea
              label={t("shrink.ignore")}
              description={t("shrink.ignoreHint")}
              value={ignored}
              onChange={(event) => setIgnored(event.currentTarget.value)}
              autosize
              minRows={2}
            />
          </>
        )}
        <Select
          label={t("shrink.data")}
          value={data}
          onChange={(value) => setData((value ?? "trash") as (typeof DATA)[number])}
          data={DATA.map((one) => ({ value: one, label: t(`shrink.${one}`) }))}
        />
        <Approval cluster={cluster} value={needsApproval} onChange={setNeedsApproval} />
      </Stack>
    </OperationDialog>
  );
}
