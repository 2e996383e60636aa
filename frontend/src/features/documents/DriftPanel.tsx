/** What differs now from what was applied under a name: asked of every broker, when somebody looks. */
import { ActionIcon, Box, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { IconPencil, IconRefresh, IconX } from "@tabler/icons-react";
import { useGet } from "@/shared/api/queries";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge } from "@/shared/ui/StateBadge";
import { PlanView } from "./PlanView";
import { useTexts } from "./texts";

interface Props {
  name: string;
  onClose: () => void;
  onEdit: (text: string) => void;
}

export function DriftPanel({ name, onClose, onEdit }: Props) {
  const t = useTexts();
  const drift = useGet("/documents/{name}/drift/", { params: { name } }, { staleTime: Infinity });
  const kept = useGet("/documents/{name}/", { params: { name } });
  const found = drift.data;
  return (
    <Box mb="md">
      <Panel
        title={t("drift.title", { name })}
        aside={
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<IconRefresh size={14} />}
              loading={drift.isFetching}
              onClick={() => void drift.refetch()}
            >
              {t("drift.again")}
            </Button>
            <Button
              leftSection={<IconPencil size={14} />}
              disabled={!kept.data}
              onClick={() => kept.data && onEdit(kept.data.text)}
            >
              {t("drift.edit")}
            </Button>
            <ActionIcon aria-label={t("drift.close")} onClick={onClose}>
              <IconX size={16} />
            </ActionIcon>
          </Group>
        }
      >
        <Stack gap="sm">
          {drift.isPending && (
            <Group gap="xs" role="status">
              <Loader size="xs" />
              <Text size="sm">{t("drift.asking")}</Text>
            </Group>
          )}
          {drift.isError && <ProblemAlert error={drift.error} onRetry={() => void drift.refetch()} />}
          {found && (
            <Group gap="sm">
              <StateBadge
                tone={found.has_drift ? "warn" : "ok"}
                label={t(found.has_drift ? "drift.some" : "drift.none")}
              />
              <Text size="sm">{t(found.has_drift ? "drift.someDetail" : "drift.noneDetail")}</Text>
            </Group>
          )}
          {found?.has_drift && <PlanView plan={found} />}
          {kept.data && (
            <details>
              <summary>{t("drift.text")}</summary>
              <CodeBlock code={kept.data.text} label={t("drift.text")} />
            </details>
          )}
        </Stack>
      </Panel>
    </Box>
  );
}
