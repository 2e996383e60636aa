/** Changing a group: begins with what its brokers have now, says only what becomes different. */
import { Modal, Skeleton, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, patch } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { changesOf, type GroupSpec, SpecFields } from "./GroupForm";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/groups/{group}/";
export const CONFIG = "/clusters/{cluster}/groups/{group}/config/";

interface Props {
  cluster: string;
  group: string;
  onClose: () => void;
}

/** Of the brokers that have it. */
export function specsOf(config: Answer<typeof CONFIG>): GroupSpec[] {
  return config.brokers.flatMap((broker) =>
    broker.ok && broker.read_back ? [broker.read_back as GroupSpec] : [],
  );
}

export function EditGroup(props: Props) {
  const { cluster, group, onClose } = props;
  const t = useTexts();
  const config = useGet(CONFIG, { params: { cluster, group } }, { staleTime: 0 });
  const specs = config.data ? specsOf(config.data) : [];
  const [first] = specs;
  if (first && !config.isFetching) return <Editing {...props} specs={specs} first={first} />;
  return (
    <Modal opened onClose={onClose} title={t("form.edit", { group })} size="lg">
      {config.isError ? (
        <ProblemAlert error={config.error} onRetry={() => void config.refetch()} />
      ) : (
        <Skeleton height={260} />
      )}
    </Modal>
  );
}

function Editing({
  cluster,
  group,
  onClose,
  specs,
  first,
}: Props & { specs: GroupSpec[]; first: GroupSpec }) {
  const t = useTexts();
  const client = useQueryClient();
  const [before] = useState(first);
  const [spec, setSpec] = useState(first);
  const body = changesOf(before, spec);
  const params = { cluster, group };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("form.edit", { group })}
      applyLabel={t("form.change")}
      canPreview={Object.keys(body).length > 0}
      preview={() => patch(PATH, { params, body, query: { dry_run: true } })}
      apply={() => patch(PATH, { params, body })}
      onApplied={() => void refresh(client, PATH, CONFIG)}
    >
      <Stack gap="sm">
        <SpecFields spec={spec} onChange={(changes) => setSpec({ ...spec, ...changes })} />
        {specs.some((one) => JSON.stringify(one) !== JSON.stringify(first)) && (
          <Text size="xs" c="dimmed">
            {t("form.unlike")}
          </Text>
        )}
      </Stack>
    </DryRunDialog>
  );
}
