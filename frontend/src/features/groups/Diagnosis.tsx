/** What is wrong with a group: checks with what they looked at and what to do. Asked now. */
import { Alert, Box, Button, Checkbox, Collapse, Group as Row, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDownload, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useGet } from "@/shared/api/queries";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { downloadText } from "@/shared/ui/download";
import { IfMay } from "@/shared/ui/IfMay";
import { JsonView } from "@/shared/ui/JsonView";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import classes from "./Diagnosis.module.css";
import { adviceOf, nameOf, sentenceOf } from "./finding_words";
import { useTexts } from "./texts";

type Answer = components["schemas"]["Diagnosis"];
type Finding = components["schemas"]["Finding"];
type State = Finding["state"];

const TONES: Record<State, Tone> = { ok: "ok", unknown: "quiet", warning: "warn", critical: "bad" };
/** The worst first. */
const ORDER: State[] = ["critical", "warning", "unknown", "ok"];

export function Diagnosis({ cluster, group }: { cluster: string; group: string }) {
  const t = useTexts();
  const [stacks, setStacks] = useState(false);
  const read = useGet(
    "/clusters/{cluster}/groups/{group}/diagnosis/",
    { params: { cluster, group }, query: stacks ? { stacks } : {} },
    { staleTime: 60_000 },
  );
  return (
    <Stack gap="sm">
      <Row justify="space-between" gap="sm">
        <Text size="sm" c="dimmed">
          {t("diagnosis.lead")}
        </Text>
        <Row gap="sm">
          <IfMay role="operator" cluster={cluster} name={group}>
            <Checkbox
              label={t("diagnosis.withStacks")}
              title={t("diagnosis.withStacksHint")}
              checked={stacks}
              onChange={(event) => setStacks(event.currentTarget.checked)}
            />
          </IfMay>
          {read.data && <Download diagnosis={read.data} />}
          <Button
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={read.isFetching}
            onClick={() => void read.refetch()}
          >
            {t("diagnosis.run")}
          </Button>
        </Row>
      </Row>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <Skeleton height={320} />}
      {read.data && <Findings diagnosis={read.data} />}
    </Stack>
  );
}

function Download({ diagnosis }: { diagnosis: Answer }) {
  const t = useTexts();
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={14} />}
      onClick={() => downloadText(JSON.stringify(diagnosis, null, 2), `diagnosis-${diagnosis.group}.json`)}
    >
      {t("diagnosis.download")}
    </Button>
  );
}

function Findings({ diagnosis }: { diagnosis: Answer }) {
  const t = useTexts();
  const locale = useLocale();
  const sorted = [...diagnosis.findings].sort(
    (left, right) => ORDER.indexOf(left.state) - ORDER.indexOf(right.state),
  );
  return (
    <>
      <Alert
        className={`sb-${TONES[diagnosis.worst]}`}
        styles={TONED}
        title={t(`diagnosis.worst.${diagnosis.worst}`)}
      >
        {t("diagnosis.asked", { time: formatTime(diagnosis.asked_at, locale) })}
      </Alert>
      <ul className={classes.findings}>
        {sorted.map((finding) => (
          <FindingLine key={finding.check_name} finding={finding} />
        ))}
      </ul>
    </>
  );
}

function FindingLine({ finding }: { finding: Finding }) {
  const t = useTexts();
  const [isOpen, evidence] = useDisclosure(false);
  const say = t as (key: string, values?: Record<string, string>) => string;
  const name = nameOf(finding, say);
  const advice = adviceOf(finding, say);
  return (
    <li className={`sb-panel ${classes.finding}`}>
      <StateBadge tone={TONES[finding.state]} label={t(`diagnosis.state.${finding.state}`)} />
      <Box miw={0}>
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="sm">{sentenceOf(finding, say)}</Text>
        {advice && (
          <Text size="sm" c="dimmed">
            {advice}
          </Text>
        )}
        {finding.evidence.length > 0 && (
          <Button
            variant="subtle"
            size="compact-xs"
            mt={4}
            ml={-8}
            onClick={evidence.toggle}
            aria-expanded={isOpen}
          >
            {t("diagnosis.evidence")}
          </Button>
        )}
        <Collapse expanded={isOpen}>
          {isOpen && <JsonView value={finding.evidence} label={`${name}: ${t("diagnosis.evidence")}`} />}
        </Collapse>
      </Box>
    </li>
  );
}
