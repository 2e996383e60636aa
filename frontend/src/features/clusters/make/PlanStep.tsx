/** The plan as the console worked it out, or why there is none and where to mend it. */
import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ProblemError } from "@/shared/api/problem";
import { asProblem } from "@/shared/api/problem";
import { Panel } from "@/shared/ui/Panel";
import { OperationPlanView } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { components } from "@/types/api.gen";
import { useTexts } from "../texts";
import { type Draft, stepOf } from "./draft";

interface Props {
  plan: UseQueryResult<components["schemas"]["OperationPlan"], ProblemError>;
  problem: unknown;
  draft: Draft;
  onMend: (step: number) => void;
}

const STEPS = ["shape", "profile", "hosts", "plan"] as const;

export function PlanStep({ plan, problem, draft, onMend }: Props) {
  const t = useTexts();
  if (plan.isPending) {
    return (
      <Group gap="xs" role="status">
        <Loader size="xs" />
        <Text size="sm">{t("make.planning")}</Text>
      </Group>
    );
  }
  if (plan.isError) return <Refused error={plan.error} onMend={onMend} onRetry={() => void plan.refetch()} />;
  return (
    <Stack gap="md">
      <Panel
        title={t("make.planTitle")}
        aside={
          <Text size="xs" c="dimmed">
            {t("make.planSteps", { count: plan.data.steps.length })}
          </Text>
        }
      >
        <OperationPlanView plan={plan.data} />
      </Panel>
      <Panel title={`${t(`profile.${draft.profile}`)} · ${t("profile.loss")}`}>
        <Text size="sm">{t(`profile.${draft.profile}Loss`)}</Text>
      </Panel>
      <Panel title={`${t("access.title")} · ${t(`access.${draft.access}`)}`}>
        <Text size="sm">{t(`access.${draft.access}Hint`)}</Text>
      </Panel>
      {problem !== null && problem !== undefined && <ProblemAlert error={problem} isWrite />}
    </Stack>
  );
}

function Refused({
  error,
  onMend,
  onRetry,
}: {
  error: unknown;
  onMend: (step: number) => void;
  onRetry: () => void;
}) {
  const t = useTexts();
  const field = asProblem(error).errors[0]?.field ?? null;
  const step = stepOf(field);
  return (
    <Stack gap="sm">
      <ProblemAlert error={error} onRetry={onRetry} />
      {step < 4 && (
        <Group>
          <Button variant="default" onClick={() => onMend(step)}>
            {`${t("make.back")}: ${t(`make.step.${STEPS[step - 1] ?? "shape"}`)}`}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
