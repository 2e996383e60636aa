/**
 * Every write of the console: look first (dry_run), confirm, then what each broker has now.
 *
 *     <DryRunDialog opened={…} onClose={…} title={…} applyLabel={…}
 *       preview={() => post("/clusters/{cluster}/topics/", { params, body, query: { dry_run: true } })}
 *       apply={() => post("/clusters/{cluster}/topics/", { params, body })}
 *       onApplied={() => refresh(client, "/clusters/{cluster}/topics/")}>
 *       <the form/>                       optional: without one the preview begins at once
 *     </DryRunDialog>
 *
 * The preview and the write go the same way through the API, so what was shown is what is done. Where something is
 * destroyed, `confirmName` must be typed. An answer that holds on some brokers only is never shown as done.
 */
import { Alert, Button, Group, Loader, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useShared } from "@/shared/texts/shared";
import { TypeName } from "./Confirm";
import { ProblemAlert } from "./ProblemAlert";
import { PlanView, ResultView } from "./plan_views";

interface Props<Plan, Result> {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** The form, if something must be entered first. */
  children?: ReactNode;
  /** Whether the form is complete. */
  canPreview?: boolean;
  preview: () => Promise<Plan>;
  apply: () => Promise<Result>;
  applyLabel: string;
  confirmName?: string;
  isDanger?: boolean;
  /** Instead of the common views of plans and outcomes. */
  renderPlan?: (plan: Plan) => ReactNode;
  renderResult?: (result: Result) => ReactNode;
  /** Lists are read anew; an operation's screen is opened. */
  onApplied?: (result: Result) => void;
  size?: string;
}

export function DryRunDialog<Plan, Result>({
  opened,
  onClose,
  title,
  size = "lg",
  ...rest
}: Props<Plan, Result>) {
  return (
    <Modal opened={opened} onClose={onClose} title={title} size={size}>
      <Steps onClose={onClose} {...rest} />
    </Modal>
  );
}

type StepsProps<Plan, Result> = Omit<Props<Plan, Result>, "opened" | "title" | "size">;

function Steps<Plan, Result>(props: StepsProps<Plan, Result>) {
  const { children, onClose, canPreview = true } = props;
  const t = useShared();
  const look = useMutation({ mutationFn: props.preview });
  const act = useMutation({ mutationFn: props.apply, onSuccess: props.onApplied });
  const { mutate: lookNow } = look;
  const hasForm = children !== undefined;
  useEffect(() => {
    if (!hasForm) lookNow();
  }, [hasForm, lookNow]);

  if (act.isSuccess) {
    return (
      <Stack gap="sm">
        {props.renderResult?.(act.data) ?? <ResultView result={act.data} />}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t("action.close")}</Button>
        </Group>
      </Stack>
    );
  }
  if (look.isSuccess) {
    return <Confirming {...props} plan={look.data} act={act} onBack={hasForm ? look.reset : undefined} />;
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canPreview) look.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        {look.isPending && (
          <Group gap="xs" role="status">
            <Loader size="xs" />
            <Text size="sm">{t("dryRun.looking")}</Text>
          </Group>
        )}
        {look.isError && (
          <ProblemAlert error={look.error} onRetry={hasForm ? undefined : () => look.mutate()} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          {hasForm && (
            <Button type="submit" loading={look.isPending} disabled={!canPreview}>
              {t("action.preview")}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface Act {
  mutate: () => void;
  isPending: boolean;
  isError: boolean;
  error: unknown;
}

function Confirming<Plan, Result>(
  props: StepsProps<Plan, Result> & { plan: Plan; act: Act; onBack?: () => void },
) {
  const { plan, act, confirmName, isDanger, onBack } = props;
  const t = useShared();
  const [typed, setTyped] = useState("");
  const isReady = confirmName === undefined || typed === confirmName;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) act.mutate();
      }}
    >
      <Stack gap="sm">
        {props.renderPlan?.(plan) ?? <PlanView plan={plan} />}
        {confirmName !== undefined && <TypeName name={confirmName} value={typed} onChange={setTyped} />}
        {act.isPending && (
          <Alert className="sb-info" role="status" icon={<Loader size="xs" />}>
            {t("dryRun.working")}
          </Alert>
        )}
        {act.isError && <ProblemAlert error={act.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack ?? props.onClose}>
            {t(onBack ? "action.back" : "action.cancel")}
          </Button>
          <Button
            type="submit"
            color={isDanger ? "red.8" : undefined}
            loading={act.isPending}
            disabled={!isReady}
          >
            {props.applyLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
