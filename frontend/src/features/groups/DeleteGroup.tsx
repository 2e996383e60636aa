/** Deleting a group: what is lost, its name typed, and the way back to where it stood. */
import { Alert, Button, Group as Row, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { del, post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { Count } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notify, notifyProblem } from "@/shared/ui/notices";
import { PlanView, ResultView, TONED } from "@/shared/ui/plan_views";
import type { components } from "@/types/api.gen";
import type { Group } from "./group";
import { useTexts } from "./texts";

type Outcomes = components["schemas"]["Outcomes"];
const PATH = "/clusters/{cluster}/groups/{group}/";
const LIST = "/clusters/{cluster}/groups/";

interface Props {
  cluster: string;
  group: Group;
  onClose: () => void;
}

export function DeleteGroup({ cluster, group, onClose }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const params = { cluster, group: group.name };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("remove.title", { group: group.name })}
      applyLabel={t("remove.action")}
      confirmName={group.name}
      isDanger
      preview={() => del(PATH, { params, query: { dry_run: true } })}
      apply={() => del(PATH, { params, query: { confirm: group.name } }) as Promise<Outcomes>}
      renderPlan={(plan) => (
        <Stack gap="sm">
          <KeyValue
            items={[
              [t("remove.unread"), <Lag key="lag" of={group} />],
              [
                t("remove.members"),
                <Count key="members" value={group.member_count} why={t("why.members")} />,
              ],
            ]}
          />
          {(group.member_count ?? 0) > 0 && (
            <Alert className="sb-bad" styles={TONED}>
              {t("remove.online")}
            </Alert>
          )}
          <PlanView plan={plan} />
          <Text size="xs" c="dimmed">
            {t("remove.kept")}
          </Text>
        </Stack>
      )}
      renderResult={(result) => <Gone {...{ cluster, group, onClose, result }} />}
      onApplied={() => void refresh(client, LIST)}
    />
  );
}

function Gone({ cluster, group, onClose, result }: Props & { result: Outcomes }) {
  const t = useTexts();
  const client = useQueryClient();
  const restore = useMutation({
    mutationFn: () =>
      post("/clusters/{cluster}/groups/{group}/restore/", { params: { cluster, group: group.name } }),
    onSuccess: () => {
      notify(t("remove.restored"));
      void refresh(client, LIST, PATH);
      onClose();
    },
    onError: (error) => notifyProblem(t("remove.restore"), error),
  });
  return (
    <Stack gap="sm">
      <ResultView result={result} />
      {result.is_complete && (
        <Row justify="space-between">
          <Text size="sm" maw={380}>
            {t("remove.kept")}
          </Text>
          <Button variant="default" loading={restore.isPending} onClick={() => restore.mutate()}>
            {t("remove.restore")}
          </Button>
        </Row>
      )}
    </Stack>
  );
}
