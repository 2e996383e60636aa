/** Name and shape, profile, hosts, and the plan before it runs. The draft is in the address. */
import { Box, Button, Group, Stack, Stepper } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import type { ProblemError } from "@/shared/api/problem";
import type { components } from "@/types/api.gen";
import { useTexts } from "../texts";
import { type Draft, isName, requestOf } from "./draft";
import { HostsStep } from "./HostsStep";
import classes from "./Make.module.css";
import { PlanStep } from "./PlanStep";
import { ProfileStep } from "./ProfileStep";
import { ShapeStep } from "./ShapeStep";

type Plan = components["schemas"]["OperationPlan"];
type Operation = components["schemas"]["OperationDetail"];

export interface StepProps {
  draft: Draft;
  setDraft: (changes: Partial<Draft>) => void;
}

const STEPS = ["shape", "profile", "hosts", "plan"] as const;

export function CreateWizard({ draft, setDraft }: StepProps) {
  const t = useTexts();
  // An address that was typed may lead past what it does not have.
  const step = isName(draft.name) ? draft.step : 1;
  const go = (to: number) => setDraft({ step: to });
  return (
    <form
      className={classes.wizard}
      onSubmit={(event) => {
        event.preventDefault();
        if (step < STEPS.length && isName(draft.name)) go(step + 1);
      }}
    >
      <Stepper
        active={step - 1}
        onStepClick={(at) => go(at + 1)}
        size="sm"
        allowNextStepsSelect={isName(draft.name)}
        classNames={{ steps: classes.steps }}
      >
        {STEPS.map((name) => (
          <Stepper.Step key={name} label={t(`make.step.${name}`)} />
        ))}
      </Stepper>
      <Box mt="lg">
        {step === 1 && <ShapeStep draft={draft} setDraft={setDraft} />}
        {step === 2 && <ProfileStep draft={draft} setDraft={setDraft} />}
        {step === 3 && <HostsStep draft={draft} setDraft={setDraft} />}
        {step === 4 && <Planned draft={draft} setDraft={setDraft} />}
      </Box>
      {step < STEPS.length && (
        <Group justify="space-between" mt="lg">
          {step > 1 ? (
            <Button variant="default" onClick={() => go(step - 1)}>
              {t("make.back")}
            </Button>
          ) : (
            <span />
          )}
          <Button type="submit" disabled={!isName(draft.name)}>
            {t("make.next")}
          </Button>
        </Group>
      )}
    </form>
  );
}

function Planned({ draft, setDraft }: StepProps) {
  const t = useTexts();
  const navigate = useNavigate();
  const client = useQueryClient();
  const body = requestOf(draft);
  const plan = useQuery<Plan, ProblemError>({
    queryKey: ["/clusters/?dry_run", body],
    queryFn: async ({ signal }) =>
      (await post("/clusters/", { body, query: { dry_run: true }, signal })) as Plan,
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const create = useMutation({
    mutationFn: async () => (await post("/clusters/", { body })) as Operation,
    onSuccess: async (operation) => {
      await refresh(client, "/clusters/", "/fleet/");
      await navigate({ to: "/operations/$id", params: { id: operation.id ?? "" } });
    },
  });
  return (
    <Stack gap="md">
      <PlanStep plan={plan} problem={create.error} draft={draft} onMend={(step) => setDraft({ step })} />
      <Group justify="space-between">
        <Button variant="default" onClick={() => setDraft({ step: 3 })}>
          {t("make.back")}
        </Button>
        <Button disabled={!plan.isSuccess} loading={create.isPending} onClick={() => create.mutate()}>
          {t(draft.approval ? "make.applyApproval" : "make.apply")}
        </Button>
      </Group>
    </Stack>
  );
}
