/** Making a slave master. */
import { Checkbox, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import type { Broker } from "./broker_data";
import { haOf } from "./broker_state";
import { useTexts } from "./texts";

export function PromoteDialog({
  cluster,
  broker,
  onClose,
}: {
  cluster: string;
  broker: Broker;
  onClose: () => void;
}) {
  const t = useTexts();
  const [isUnclean, setUnclean] = useState(false);
  const group = broker.broker_name;
  const member = haOf(broker.live).memberId ?? Number(broker.label.slice(group.length + 1));
  const words = { name: broker.label, group };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("promote.title", words)}
      applyLabel={t("promote.apply")}
      isDanger={isUnclean}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/promote/", {
          params: { cluster },
          body: { group, member, unclean: isUnclean, needs_approval: false },
          query: { dry_run: isDryRun },
        })
      }
    >
      <Stack gap="sm">
        <Text size="sm">{t("promote.ask", words)}</Text>
        <Checkbox
          label={t("promote.unclean")}
          description={t("promote.uncleanWhy")}
          checked={isUnclean}
          onChange={(event) => setUnclean(event.currentTarget.checked)}
        />
      </Stack>
    </OperationDialog>
  );
}
