/** Whether a second person must look at the plan; said where the cluster always wants it. */
import { Checkbox, Text } from "@mantine/core";
import type { Cluster } from "../cluster_data";
import { useTexts } from "../texts";

interface Props {
  cluster: Cluster;
  value: boolean;
  onChange: (isWanted: boolean) => void;
}

export function Approval({ cluster, value, onChange }: Props) {
  const t = useTexts();
  if (cluster.needs_approval) {
    return (
      <Text size="sm" c="dimmed">
        {t("approvalAlways")}
      </Text>
    );
  }
  return (
    <Checkbox
      label={t("approval")}
      checked={value}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

export interface DialogProps {
  cluster: Cluster;
  onClose: () => void;
}
