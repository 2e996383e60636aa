/** Steps in their order; those of one position stand together because they run side by side. */
import { Loader, UnstyledButton } from "@mantine/core";
import {
  IconAlertTriangle,
  IconArrowBackUp,
  IconCheck,
  IconCircleDashed,
  IconMinus,
} from "@tabler/icons-react";
import { Span } from "@/shared/ui/Figure";
import { useNow } from "@/shared/ui/use_now";
import type { Step } from "./operation_data";
import classes from "./Operation.module.css";
import { stagesOf, tookOf } from "./steps";
import { useTexts } from "./texts";

interface Props {
  steps: readonly Step[];
  chosen: string;
  onChoose: (step: string) => void;
}

export function StepList({ steps, chosen, onChoose }: Props) {
  const t = useTexts();
  const stages = stagesOf(steps);
  const firstUndo = stages.findIndex((stage) => stage.isUndo);
  return (
    <ol className={classes.stages}>
      {stages.map((stage, at) => (
        <li key={`${stage.position}/${String(stage.isUndo)}`} className={classes.stage}>
          {at === firstUndo && <div className={classes.undo}>{t("one.undo")}</div>}
          {stage.steps.map((step) => (
            <StepLine key={step.id} step={step} isChosen={step.id === chosen} onChoose={onChoose} />
          ))}
        </li>
      ))}
    </ol>
  );
}

const TONES: Record<string, string> = {
  done: "sb-ok",
  running: "sb-info",
  failed: "sb-bad",
  undone: "sb-warn",
};

function StepLine({
  step,
  isChosen,
  onChoose,
}: {
  step: Step;
  isChosen: boolean;
  onChoose: (id: string) => void;
}) {
  const t = useTexts();
  const now = useNow();
  const state = step.state ?? "waiting";
  const took = tookOf(step.started_at, step.finished_at, now);
  const hasTries = (step.attempts ?? 0) > 1;
  return (
    <UnstyledButton
      className={`${classes.step} ${TONES[state] ?? "sb-quiet"} ${isChosen ? classes.chosen : ""}`}
      onClick={() => onChoose(step.id)}
      aria-pressed={isChosen}
      title={t("one.stepFilter", { step: step.summary })}
      data-step-state={state}
    >
      <span className={classes.mark}>
        {MARKS[state]}
        <span className="sb-visually-hidden">{t(`stepState.${state}`)}</span>
      </span>
      <span className={classes.what}>
        <span>{step.summary}</span>
        {state === "running" && step.progress && <span className={classes.note}>{step.progress}</span>}
        {step.error && state !== "done" && <span className={classes.error}>{step.error}</span>}
      </span>
      <span className={classes.side}>
        {hasTries && <span>{t("one.attempt", { count: step.attempts ?? 0 })}</span>}
        {took !== null && state !== "waiting" && <Span seconds={took} />}
        <span className={classes.host}>{step.host ?? t("one.anyHost")}</span>
      </span>
    </UnstyledButton>
  );
}

const SIZE = 15;
const MARKS = {
  waiting: <IconCircleDashed size={SIZE} />,
  running: <Loader size={13} color="var(--sb-info)" />,
  done: <IconCheck size={SIZE} />,
  failed: <IconAlertTriangle size={SIZE} />,
  skipped: <IconMinus size={SIZE} />,
  undone: <IconArrowBackUp size={SIZE} />,
} as const;
