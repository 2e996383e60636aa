/** One operation: what it does, how far it is, what its steps say; approving, cancelling, trying again, rolling back. */
import { Alert, Box, List, Progress, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconUserCheck } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { Span } from "@/shared/ui/Figure";
import { useRights } from "@/shared/session/session";
import { JsonView } from "@/shared/ui/JsonView";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { Panel } from "@/shared/ui/Panel";
import { PageSkeleton } from "@/shared/ui/PageSkeleton";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { TONED } from "@/shared/ui/plan_views";
import { Tag } from "@/shared/ui/StateBadge";
import { useNow } from "@/shared/ui/use_now";
import { useSearchState } from "@/shared/url/use_search";
import { isOver, type Operation, useLines, useOperation } from "./operation_data";
import classes from "./Operation.module.css";
import { OperationState, useKindWord } from "./OperationState";
import { operationSearch } from "./search";
import { StepList } from "./StepList";
import { StepLog } from "./StepLog";
import { countDone, tookOf } from "./steps";
import { useTexts } from "./texts";
import { VerbButtons } from "./VerbButtons";

export function OperationScreen() {
  const { id = "" } = useParams({ strict: false });
  const { operation, error, refetch } = useOperation(id);
  if (operation === undefined) {
    return (
      <Page>{error ? <ProblemAlert error={error} onRetry={() => void refetch()} /> : <PageSkeleton />}</Page>
    );
  }
  return <Shown id={id} operation={operation} />;
}

function Shown({ id, operation }: { id: string; operation: Operation }) {
  const t = useTexts();
  const kindWord = useKindWord();
  const { search, setSearch } = useSearchState(operationSearch);
  const isRunning = !isOver(operation.state) && operation.state !== "failed";
  const lines = useLines(id, operation.revision, isRunning);
  const chosen = operation.steps.find((step) => step.id === search.step);
  return (
    <Page>
      <PageHeader
        title={operation.summary}
        crumbs={crumbsOf(operation, t("title"))}
        badges={
          <>
            <OperationState state={operation.state} />
            <Tag>{kindWord(operation.kind)}</Tag>
          </>
        }
        actions={<VerbButtons id={id} operation={operation} />}
      />
      <Stack gap="md">
        <Standing operation={operation} />
        <div className={classes.columns}>
          <Stack gap="md" miw={0}>
            <Panel title={t("one.steps")} aside={<Counted operation={operation} />}>
              <StepList
                steps={operation.steps}
                chosen={search.step}
                onChoose={(step) => setSearch({ step: step === search.step ? "" : step })}
              />
            </Panel>
          </Stack>
          <Stack gap="md" miw={0}>
            <StepLog
              lines={lines.data}
              error={lines.error}
              steps={operation.steps}
              chosen={chosen}
              isRunning={isRunning}
              onClear={() => setSearch({ step: "" })}
            />
            <Panel title={t("one.plan")}>
              <List size="sm" spacing={3}>
                {operation.plan.map((line, at) => (
                  <List.Item key={at}>{line}</List.Item>
                ))}
              </List>
              <Box mt="md">
                <About operation={operation} />
              </Box>
            </Panel>
            {hasRequest(operation.request) && (
              <Panel title={t("one.request")}>
                <JsonView value={operation.request} label={t("one.request")} />
              </Panel>
            )}
          </Stack>
        </div>
      </Stack>
    </Page>
  );
}

function crumbsOf(operation: Operation, title: string) {
  const { cluster } = operation;
  if (cluster === null) return [];
  return [
    { label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } as const },
    { label: title, link: { to: "/clusters/$cluster/operations", params: { cluster } } as const },
  ];
}

function hasRequest(request: unknown): boolean {
  return typeof request === "object" && request !== null && Object.keys(request).length > 0;
}

/** What must be decided, if anything. */
function Standing({ operation }: { operation: Operation }) {
  const t = useTexts();
  const { username } = useRights();
  if (operation.state === "awaiting_approval") {
    const isOwn = operation.created_by === username;
    return (
      <Alert
        className="sb-warn"
        styles={TONED}
        icon={<IconUserCheck size={18} />}
        title={t("approval.title")}
      >
        {isOwn ? t("approval.yours") : t("approval.others", { name: operation.created_by })}
      </Alert>
    );
  }
  if (operation.state === "failed") {
    return (
      <Alert
        className="sb-bad"
        styles={TONED}
        icon={<IconAlertTriangle size={18} />}
        title={t("failed.title")}
        role="alert"
      >
        {operation.error && <Text size="sm">{operation.error}</Text>}
        <Text size="sm" mt={2}>
          {t("failed.detail")}
        </Text>
      </Alert>
    );
  }
  return null;
}

function Counted({ operation }: { operation: Operation }) {
  const t = useTexts();
  const words = countDone(operation.steps);
  const isBad = operation.state === "failed";
  return (
    <span className={classes.counted}>
      <Progress
        value={words.all === 0 ? 0 : (100 * words.done) / words.all}
        size={5}
        w={90}
        color={isBad ? "red" : undefined}
        aria-label={t("stepsLabel", words)}
      />
      <span className="sb-figure" data-testid="steps-done">
        {t("steps", words)}
      </span>
    </span>
  );
}

function About({ operation }: { operation: Operation }) {
  const t = useTexts();
  const now = useNow();
  const { cluster } = operation;
  return (
    <KeyValue
      items={[
        cluster === null
          ? null
          : [
              t("one.cluster"),
              <Link key="cluster" to="/clusters/$cluster" params={{ cluster }}>
                {cluster}
              </Link>,
            ],
        [t("one.by"), operation.created_by],
        operation.approved_by ? [t("one.approved"), operation.approved_by] : null,
        [t("one.begun"), <ExactTime key="begun" at={operation.created_at} />],
        operation.finished_at ? [t("one.ended"), <ExactTime key="ended" at={operation.finished_at} />] : null,
        [
          t("one.took"),
          <Span key="took" seconds={tookOf(operation.created_at, operation.finished_at, now)} />,
        ],
      ]}
    />
  );
}
