/** Deleting a topic: what it would hit, its name typed, what is left, and the way back. */
import { Alert, Button, Group, List, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { del, post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { Count, Rate } from "@/shared/ui/Figure";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notify, notifyProblem } from "@/shared/ui/notices";
import { ResultView, TONED } from "@/shared/ui/plan_views";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

type Impact = components["schemas"]["Impact"];
type Outcomes = components["schemas"]["Outcomes"];
const PATH = "/clusters/{cluster}/topics/{topic}/";
const LIST = "/clusters/{cluster}/topics/";

interface Props {
  cluster: string;
  topic: string;
  onClose: () => void;
}

export function DeleteTopic({ cluster, topic, onClose }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const params = { cluster, topic };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("remove.title", { topic })}
      applyLabel={t("remove.action")}
      confirmName={topic}
      isDanger
      preview={() => del(PATH, { params, query: { dry_run: true } }) as Promise<Impact>}
      apply={() => del(PATH, { params, query: { confirm: topic } }) as Promise<Outcomes>}
      renderPlan={(impact) => <ImpactView impact={impact} />}
      renderResult={(result) => <Gone cluster={cluster} topic={topic} result={result} onClose={onClose} />}
      onApplied={() => void refresh(client, LIST)}
    />
  );
}

function ImpactView({ impact }: { impact: Impact }) {
  const t = useTexts();
  const isUsed = (impact.put_rate ?? 0) > 0 || impact.groups.some((group) => (group.member_count ?? 0) > 0);
  return (
    <Stack gap="sm">
      <Text size="sm">{t("remove.lead")}</Text>
      {!impact.is_complete && (
        <Alert className="sb-warn" styles={TONED}>
          {t("remove.incomplete")}
        </Alert>
      )}
      <Alert className={isUsed ? "sb-bad" : "sb-ok"} styles={TONED}>
        {t(isUsed ? "remove.isUsed" : "remove.unused")}
      </Alert>
      <KeyValue
        items={[
          [t("remove.messages"), <Count key="m" value={impact.messages} />],
          [t("remove.rate"), <Rate key="r" value={impact.put_rate} />],
          [t("remove.lastWrite"), <RelativeTime key="w" at={impact.last_write_at} missing="never" />],
          [t("remove.producers"), <Count key="p" value={impact.producers.length} />],
        ]}
      />
      <ImpactGroups impact={impact} />
      <Text size="xs" c="dimmed">
        {t("remove.kept")}
      </Text>
    </Stack>
  );
}

const SHOWN = 10;

function ImpactGroups({ impact }: { impact: Impact }) {
  const t = useTexts();
  const shared = useShared();
  const locale = useLocale();
  const more = impact.groups.length - SHOWN;
  return (
    <div>
      <Text size="sm" fw={600}>
        {t("remove.groups")}
      </Text>
      {impact.groups.length + impact.hidden_groups === 0 && <Text size="sm">{shared("none")}</Text>}
      <List size="sm">
        {impact.groups.slice(0, SHOWN).map((group) => (
          <List.Item key={group.name}>
            <b>{group.name}</b>{" "}
            {t("remove.groupLine", {
              lag: group.lag === null ? shared("unknown.word") : formatCount(group.lag, locale),
              members:
                group.member_count === null
                  ? shared("unknown.word")
                  : t("remove.members", { count: group.member_count }),
            })}
          </List.Item>
        ))}
        {more > 0 && <List.Item>{`+ ${more}`}</List.Item>}
        {impact.hidden_groups > 0 && (
          <List.Item>{t("remove.hidden", { count: impact.hidden_groups })}</List.Item>
        )}
      </List>
    </div>
  );
}

function Gone({ cluster, topic, result, onClose }: Props & { result: Outcomes }) {
  const t = useTexts();
  const client = useQueryClient();
  const restore = useMutation({
    mutationFn: () => post("/clusters/{cluster}/topics/{topic}/restore/", { params: { cluster, topic } }),
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
        <Group justify="space-between">
          <Text size="sm">{t("remove.kept")}</Text>
          <Button variant="default" loading={restore.isPending} onClick={() => restore.mutate()}>
            {t("remove.restore")}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
