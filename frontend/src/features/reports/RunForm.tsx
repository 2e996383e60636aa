/** Run a report now: what is asked for, which stores that reads and where, and then the run. */
import { Alert, Button, Group, Modal, SimpleGrid, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh, useGet } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { TimeField } from "@/shared/ui/TimeField";
import { useTexts } from "./texts";
import { firstWish, wishBody, WishFields } from "./WishFields";

interface Props {
  opened: boolean;
  onClose: () => void;
  cluster: string;
  onStarted: (run: string) => void;
}

const RUNS = "/clusters/{cluster}/reports/runs/";
type Body = Parameters<typeof post<typeof RUNS>>[1]["body"];

export function RunForm({ opened, onClose, ...rest }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("runs.new")} size="lg">
      <Form onClose={onClose} {...rest} />
    </Modal>
  );
}

function Form({ onClose, cluster, onStarted }: Omit<Props, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const catalogue = useGet("/reports/", {});
  const [wish, setWish] = useState(() => ({ ...firstWish(), begin: "", end: "" }));
  const set = (changes: Partial<typeof wish>) => setWish((before) => ({ ...before, ...changes }));
  const reports = catalogue.data?.reports ?? [];
  const start = useMutation({
    mutationFn: () => {
      const times = { ...(wish.begin && { begin: wish.begin }), ...(wish.end && { end: wish.end }) };
      return post(RUNS, { params: { cluster }, body: { ...wishBody(wish, reports), ...times } as Body });
    },
    onSuccess: async (run) => {
      onClose();
      await refresh(client, RUNS);
      if ("id" in run) onStarted(run.id);
    },
  });
  const problem = asProblem(start.error);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <Stack gap="sm">
        {catalogue.isError && <ProblemAlert error={catalogue.error} />}
        <WishFields reports={reports} wish={wish} set={set} problem={problem} />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TimeField
            label={t("form.from")}
            value={wish.begin}
            onChange={(begin) => set({ begin })}
            error={fieldError(problem, "begin")}
            w="100%"
          />
          <TimeField
            label={t("form.to")}
            value={wish.end}
            onChange={(end) => set({ end })}
            error={fieldError(problem, "end")}
            w="100%"
          />
        </SimpleGrid>
        {catalogue.data?.is_available === false && (
          <Alert color="yellow" title={t("missing.title")}>
            {catalogue.data.missing}
          </Alert>
        )}
        {start.isError && <ProblemAlert error={start.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={start.isPending} disabled={reports.length === 0}>
            {t("form.run")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
