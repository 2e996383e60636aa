/** A search in the background: how many messages that would be, then a job that can be left alone. */
import { Alert, NumberInput, SimpleGrid, Stack, TagsInput, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { TONED } from "@/shared/ui/plan_views";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import { filtersOf, isFiltered, type MessagesSearch } from "./find";
import { LookedFor } from "./LookedFor";
import { useTexts } from "./texts";

type Job = components["schemas"]["SearchJob"];
type Estimate = components["schemas"]["Estimate"];

interface Props {
  cluster: string;
  search: MessagesSearch;
  opened: boolean;
  onClose: () => void;
  onMade: (id: string) => void;
}

export function NewJob(props: Props) {
  const { cluster, search, opened, onClose, onMade } = props;
  const t = useTexts();
  const client = useQueryClient();
  const [more, setMore] = useState<string[]>([]);
  const [limits, setLimits] = useState({ max_scan: 1_000_000, max_hits: 1_000, keep_days: 7 });
  const topics = [...new Set([search.topic, ...more])].filter((topic) => topic !== "");
  const body = { topics, ...filtersOf(search), runner: "celery" as const, ...limits };
  const canStart = topics.length > 0 && isFiltered(search);
  const wanted = {
    begin: null,
    end: null,
    key: null,
    tag: null,
    property: null,
    body: null,
    sql: null,
    ...filtersOf(search),
  };
  return (
    <DryRunDialog<
      Answer<"/clusters/{cluster}/searches/", "post">,
      Answer<"/clusters/{cluster}/searches/", "post">
    >
      opened={opened}
      onClose={onClose}
      title={t("jobs.new")}
      canPreview={canStart}
      preview={() =>
        post("/clusters/{cluster}/searches/", { params: { cluster }, body, query: { dry_run: true } })
      }
      apply={() => post("/clusters/{cluster}/searches/", { params: { cluster }, body })}
      applyLabel={t("jobs.run")}
      renderPlan={(plan) => <EstimateView estimate={plan as Estimate} limit={limits.max_scan} />}
      renderResult={() => <StateBadge state="done" label={t("jobs.started")} />}
      onApplied={(job) => {
        void refresh(client, "/clusters/{cluster}/searches/");
        onClose();
        onMade((job as Job).id);
      }}
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t("jobs.newDetail")}
        </Text>
        <TagsInput
          label={t("jobs.topics")}
          description={t("jobs.topicsHint")}
          value={topics}
          onChange={(all) => setMore(all.filter((one) => one !== search.topic))}
          maxTags={20}
          size="xs"
        />
        {isFiltered(search) ? <LookedFor wanted={wanted} /> : <Text size="sm">{t("jobs.needsFilter")}</Text>}
        <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
          <Limit
            label={t("jobs.maxScan")}
            value={limits.max_scan}
            most={10_000_000}
            onChange={(max_scan) => setLimits({ ...limits, max_scan })}
          />
          <Limit
            label={t("jobs.maxHits")}
            value={limits.max_hits}
            most={10_000}
            onChange={(max_hits) => setLimits({ ...limits, max_hits })}
          />
          <Limit
            label={t("jobs.keepDays")}
            value={limits.keep_days}
            most={30}
            onChange={(keep_days) => setLimits({ ...limits, keep_days })}
          />
        </SimpleGrid>
      </Stack>
    </DryRunDialog>
  );
}

function EstimateView({ estimate, limit }: { estimate: Estimate; limit: number }) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <Alert className={estimate.is_within_limit ? "sb-info" : "sb-warn"} styles={TONED}>
      <Text size="sm">{t("jobs.estimate", { count: formatCount(estimate.messages, locale) })}</Text>
      <Text size="sm">
        {estimate.is_within_limit
          ? t("jobs.within")
          : t("jobs.beyond", { limit: formatCount(limit, locale) })}
      </Text>
    </Alert>
  );
}

function Limit({
  label,
  value,
  most,
  onChange,
}: {
  label: string;
  value: number;
  most: number;
  onChange: (value: number) => void;
}) {
  return (
    <NumberInput
      label={label}
      value={value}
      min={1}
      max={most}
      allowDecimal={false}
      thousandSeparator=" "
      onChange={(next) => onChange(Number(next) || 1)}
    />
  );
}
