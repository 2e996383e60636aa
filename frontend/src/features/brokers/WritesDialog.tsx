/** Letting a broker group take writes, or refusing them; read back from its master. */
import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { put } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  group: string;
  /** What is wanted. */
  isWritable: boolean;
  onClose: () => void;
}

export function WritesDialog({ cluster, group, isWritable, onClose }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const words = { name: group };
  const ask = (isDryRun: boolean) =>
    put("/clusters/{cluster}/broker_groups/{group}/write_permission/", {
      params: { cluster, group },
      body: { is_writable: isWritable },
      query: { dry_run: isDryRun },
    });
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t(isWritable ? "writes.allowTitle" : "writes.refuseTitle", words)}
      applyLabel={t(isWritable ? "writes.allow" : "writes.refuse")}
      preview={() => ask(true)}
      apply={() => ask(false)}
      renderPlan={() => (
        <Text size="sm">{t(isWritable ? "writes.allowAsk" : "writes.refuseAsk", words)}</Text>
      )}
      onApplied={() =>
        void refresh(client, "/clusters/{cluster}/brokers/", "/clusters/{cluster}/broker_settings/")
      }
    />
  );
}
