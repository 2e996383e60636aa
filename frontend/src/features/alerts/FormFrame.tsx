/** What the forms of this screen have alike: fields, what went wrong, a way out, a way on. */
import { Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";

interface Props {
  children: ReactNode;
  /** Whether everything that must be said is said. */
  isReady: boolean;
  /** The mutation that is begun. */
  act: { mutate: () => void; isPending: boolean; isError: boolean; error: unknown };
  actionLabel: string;
  onClose: () => void;
}

export function FormFrame({ children, isReady, act, actionLabel, onClose }: Props) {
  const shared = useShared();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) act.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        {act.isError && <ProblemAlert error={act.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" disabled={!isReady} loading={act.isPending}>
            {actionLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
