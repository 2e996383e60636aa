/** A redrive: which letters, where to, how carefully. The plan comes first. */
import { Alert, Checkbox, List, NumberInput, SimpleGrid, Stack, Text } from "@mantine/core";
import { SegmentedControl } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { useLocale } from "@/shared/texts/i18n";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { TONED } from "@/shared/ui/plan_views";
import type { components } from "@/types/api.gen";
import { type Care, CAREFUL, requestOf } from "./redriving";
import { useTexts } from "./texts";

type Plan = components["schemas"]["RedrivePlan"];
type Result = Answer<"/clusters/{cluster}/dlq/{group}/redrives/", "post">;

interface Props {
  cluster: string;
  group: string;
  /** Null: closed; none: all of them. */
  selection: readonly string[] | null;
  onClose: () => void;
  onStarted: (id: string) => void;
}

export function RedriveDialog({ cluster, group, selection, onClose, onStarted }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const [care, setCare] = useState<Care>(CAREFUL);
  const body = requestOf(selection ?? [], care);
  const params = { cluster, group };
  return (
    <DryRunDialog<Result, Result>
      opened={selection !== null}
      onClose={onClose}
      title={t("redrive.title", { group })}
      canPreview={care.target !== "topic" || care.topic.trim() !== ""}
      preview={() =>
        post("/clusters/{cluster}/dlq/{group}/redrives/", { params, body, query: { dry_run: true } })
      }
      apply={() => post("/clusters/{cluster}/dlq/{group}/redrives/", { params, body })}
      applyLabel={t("redrive.start")}
      renderPlan={(plan) => <PlanView plan={plan as Plan} />}
      renderResult={() => <Text size="sm">{t("redrive.started")}</Text>}
      onApplied={(made) => {
        void refresh(client, "/clusters/{cluster}/redrives/", "/clusters/{cluster}/dlq/");
        onStarted((made as components["schemas"]["Redrive"]).id);
      }}
    >
      <CareFields
        cluster={cluster}
        count={selection?.length ?? 0}
        care={care}
        onChange={(changes) => setCare((now) => ({ ...now, ...changes }))}
      />
    </DryRunDialog>
  );
}

function PlanView({ plan }: { plan: Plan }) {
  const t = useTexts();
  const locale = useLocale();
  if (plan.total === "0") return <Text size="sm">{t("redrive.nothing")}</Text>;
  return (
    <Alert
      className="sb-info"
      styles={TONED}
      title={t("redrive.count", { count: formatCount(plan.total, locale) })}
    >
      <List type="ordered" size="sm">
        {plan.plan.map((line) => (
          <List.Item key={line}>{line}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

interface FieldsProps {
  cluster: string;
  count: number;
  care: Care;
  onChange: (changes: Partial<Care>) => void;
}

const TARGETS = ["group", "original", "topic"] as const;

function CareFields({ cluster, count, care, onChange }: FieldsProps) {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <Text fw={600}>{count === 0 ? t("redrive.all") : t("redrive.some", { count })}</Text>
      <div>
        <SegmentedControl
          aria-label={t("redrive.target")}
          value={care.target}
          onChange={(target) => onChange({ target: target as Care["target"] })}
          data={TARGETS.map((target) => ({ value: target, label: t(`redrive.targets.${target}`) }))}
        />
        <Text size="xs" c="dimmed" mt={4}>
          {t(`redrive.targetHint.${care.target}`)}
        </Text>
      </div>
      {care.target === "topic" && (
        <TopicPicker
          cluster={cluster}
          label={t("redrive.topic")}
          value={care.topic}
          onChange={(topic) => onChange({ topic })}
          required
        />
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberInput
          label={t("redrive.canary")}
          description={t("redrive.canaryHint")}
          value={care.canary}
          min={0}
          max={1000}
          onChange={(value) => onChange({ canary: Number(value) || 0 })}
        />
        <NumberInput
          label={t("redrive.window")}
          description={t("redrive.windowHint")}
          value={care.windowS}
          min={0}
          max={86_400}
          onChange={(value) => onChange({ windowS: Number(value) || 0 })}
        />
        <NumberInput
          label={t("redrive.rate")}
          value={care.rate}
          min={1}
          max={500}
          onChange={(value) => onChange({ rate: Number(value) || 1 })}
        />
        <NumberInput
          label={t("redrive.share")}
          description={t("redrive.shareHint")}
          value={care.failurePercent}
          min={0}
          max={100}
          onChange={(value) => onChange({ failurePercent: Number(value) || 0 })}
        />
      </SimpleGrid>
      <Checkbox
        label={t("redrive.skips")}
        checked={care.skipsRedriven}
        onChange={(event) => onChange({ skipsRedriven: event.currentTarget.checked })}
      />
    </Stack>
  );
}
