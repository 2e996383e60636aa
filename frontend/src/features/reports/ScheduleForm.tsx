/** A schedule of a report: when by cron, in which zone, how far back; the next moments before it is made. */
import { Button, Group, List, Modal, NumberInput, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { asProblem } from "@/shared/api/problem";
import { refresh, useGet } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { fieldError } from "@/shared/ui/ProblemWords";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { useTexts } from "./texts";
import { firstWish, wishBody, WishFields } from "./WishFields";

const SCHEDULES = "/clusters/{cluster}/reports/schedules/";
type Body = Parameters<typeof post<typeof SCHEDULES>>[1]["body"];

interface Props {
  opened: boolean;
  onClose: () => void;
  cluster: string;
}

export function ScheduleForm({ opened, onClose, cluster }: Props) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("schedules.new")} size="lg">
      <Form onClose={onClose} cluster={cluster} />
    </Modal>
  );
}

function Form({ onClose, cluster }: Omit<Props, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const reports = useGet("/reports/", {}).data?.reports ?? [];
  const [wish, setWish] = useState(() => ({ ...firstWish(), name: "", cron: "0 6 * * *", last_hours: "" }));
  const set = (changes: Partial<typeof wish>) => setWish((before) => ({ ...before, ...changes }));
  const body = {
    ...wishBody(wish, reports),
    name: wish.name.trim(),
    cron: wish.cron.trim(),
    last_hours: wish.last_hours === "" ? null : Number(wish.last_hours),
  } as Body;
  const make = useMutation({
    mutationFn: () => post(SCHEDULES, { params: { cluster }, body }),
    onSuccess: async () => {
      onClose();
      await refresh(client, SCHEDULES);
    },
  });
  const problem = asProblem(make.error);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={t("form.name")}
          value={wish.name}
          error={fieldError(problem, "name")}
          required
          data-autofocus
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            label={t("form.cron")}
            description={t("form.cronHint")}
            value={wish.cron}
            error={fieldError(problem, "cron")}
            required
            onChange={(event) => set({ cron: event.currentTarget.value })}
          />
          <NumberInput
            label={t("form.lastHours")}
            description={t("form.lastHoursHint")}
            min={1}
            allowDecimal={false}
            value={wish.last_hours}
            error={fieldError(problem, "last_hours")}
            onChange={(hours) => set({ last_hours: String(hours) })}
          />
        </SimpleGrid>
        <Times cluster={cluster} cron={wish.cron} zone={wish.time_zone} report={wish.report} />
        <WishFields reports={reports} wish={wish} set={set} problem={problem} />
        {make.isError && <ProblemAlert error={make.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared("action.cancel")}
          </Button>
          <Button type="submit" loading={make.isPending} disabled={wish.name.trim() === ""}>
            {t("form.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Asked for a moment after somebody stopped typing; a wrong expression is said in the API's words. */
function Times(props: { cluster: string; cron: string; zone: string; report: string }) {
  const t = useTexts();
  const [asked] = useDebouncedValue(props, 400);
  const times = useQuery({
    queryKey: ["report times", asked],
    retry: false,
    queryFn: () => {
      const body = { name: "-", report: asked.report, cron: asked.cron, time_zone: asked.zone } as Body;
      const query = { dry_run: true };
      return post(SCHEDULES, { params: { cluster: asked.cluster }, query, body });
    },
  });
  if (times.isError) return <ProblemAlert error={times.error} />;
  if (!times.data || !("times" in times.data)) return null;
  return (
    <div>
      <Text size="sm" fw={500}>
        {t("form.times")}
      </Text>
      <List size="sm">
        {times.data.times.map((at) => (
          <List.Item key={at}>
            <ExactTime at={at} />
          </List.Item>
        ))}
      </List>
    </div>
  );
}
