/**
 * A change that takes time: look at the plan, confirm, and go to the operation that carries it out.
 *
 *     <OperationDialog opened={…} onClose={…} title={…} applyLabel={…} ask={(isDryRun) =>
 *       post("/clusters/{cluster}/restart/", { params, body, query: { dry_run: isDryRun } })} />
 *
 * A plan without steps has nothing to do, and says so.
 */
import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { refresh } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import type { components } from "@/types/api.gen";
import { DryRunDialog } from "./DryRunDialog";
import { OperationPlanView } from "./plan_views";

type Plan = components["schemas"]["OperationPlan"];
type Operation = components["schemas"]["OperationDetail"];
export type PlanOrOperation = Plan | Operation | undefined;

interface Props {
  opened: boolean;
  onClose: () => void;
  title: string;
  applyLabel: string;
  /** The same request twice: first as a dry run. */
  ask: (isDryRun: boolean) => Promise<PlanOrOperation>;
  children?: ReactNode;
  canPreview?: boolean;
  confirmName?: string;
  isDanger?: boolean;
  size?: string;
}

export function OperationDialog({ ask, ...rest }: Props) {
  const t = useShared();
  const navigate = useNavigate();
  const client = useQueryClient();
  async function go(answer: PlanOrOperation) {
    await refresh(client, "/clusters/", "/clusters/{cluster}/", "/clusters/{cluster}/operations/");
    if (answer && "id" in answer && answer.id) {
      await navigate({ to: "/operations/$id", params: { id: answer.id } });
    }
  }
  return (
    <DryRunDialog
      {...rest}
      preview={() => ask(true)}
      apply={() => ask(false)}
      onApplied={(answer) => void go(answer)}
      renderPlan={(plan) => <PlanShown plan={plan} />}
      renderResult={(answer) => (
        <Text size="sm">{t(answer && "id" in answer ? "dryRun.begun" : "dryRun.nothing")}</Text>
      )}
    />
  );
}

function PlanShown({ plan }: { plan: PlanOrOperation }) {
  const t = useShared();
  if (plan === undefined || !("warnings" in plan)) return null;
  if (plan.steps.length === 0 && plan.plan.length === 0) return <Text size="sm">{t("dryRun.nothing")}</Text>;
  return <OperationPlanView plan={plan} />;
}
