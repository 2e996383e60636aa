/** Schedules of reports: when they run next; paused, resumed, run at once, deleted. */
import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import {
  IconCalendar,
  IconDots,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Answer, del, patch, post } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { Toolbar } from "@/shared/list/Toolbar";
import { useShared } from "@/shared/texts/shared";
import { Confirm } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { IfMay } from "@/shared/ui/IfMay";
import { notify, notifyProblem } from "@/shared/ui/notices";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import { useReportName } from "./run_views";
import { ScheduleForm } from "./ScheduleForm";
import { useTexts } from "./texts";

const SCHEDULES = "/clusters/{cluster}/reports/schedules/";
const ONE = "/clusters/{cluster}/reports/schedules/{schedule}/";
type Schedule = Answer<typeof SCHEDULES>["results"][number];
/** What is not said stays; the schema asks for what has a default. */
type Change = Parameters<typeof patch<typeof ONE>>[1]["body"];

export function SchedulesTab({ cluster }: { cluster: string }) {
  const t = useTexts();
  const client = useQueryClient();
  const [isMaking, make] = useState(false);
  const [leaving, leave] = useState<Schedule | null>(null);
  const read = useGet(SCHEDULES, { params: { cluster }, query: { limit: 500 } });
  return (
    <>
      <Toolbar>
        <IfMay role="operator" cluster={cluster}>
          <Button leftSection={<IconPlus size={14} />} onClick={() => make(true)}>
            {t("schedules.new")}
          </Button>
        </IfMay>
      </Toolbar>
      <DataTable
        label={t("schedules.label")}
        columns={useColumns(cluster, leave)}
        rows={read.data?.results}
        rowKey={(row) => row.id}
        rowName={(row) => row.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        empty={
          <EmptyState icon={<IconCalendar size={28} />} title={t("schedules.empty")}>
            {t("schedules.emptyDetail")}
          </EmptyState>
        }
      />
      <ScheduleForm opened={isMaking} onClose={() => make(false)} cluster={cluster} />
      {leaving && (
        <Confirm
          opened
          onClose={() => leave(null)}
          title={t("schedules.deleteTitle", { name: leaving.name })}
          actionLabel={t("schedules.delete")}
          onConfirm={async () => {
            await del(ONE, { params: { cluster, schedule: Number(leaving.id) } });
            await refresh(client, SCHEDULES);
          }}
        >
          <Text size="sm">{t("schedules.deleteDetail")}</Text>
        </Confirm>
      )}
    </>
  );
}

function useColumns(cluster: string, leave: (schedule: Schedule) => void): Column<Schedule>[] {
  const t = useTexts();
  const nameOf = useReportName();
  return useMemo(
    () => [
      {
        key: "name",
        title: t("column.name"),
        render: (row) => (
          <span title={row.note || row.name}>
            {row.name} {!row.is_enabled && <Tag>{t("schedules.paused")}</Tag>}
          </span>
        ),
      },
      { key: "report", title: t("column.report"), width: 160, render: (row) => nameOf(row.report) },
      {
        key: "cron",
        title: t("column.cron"),
        width: 240,
        from: 720,
        render: (row) => (
          <span>
            <code>{row.cron}</code> <span className="sb-stale">{row.time_zone}</span>
          </span>
        ),
      },
      {
        key: "next",
        title: t("column.next"),
        width: 130,
        from: 520,
        render: (row) => <RelativeTime at={row.next_at} missing="never" />,
      },
      { key: "by", title: t("column.by"), width: 130, from: 900, render: (row) => row.owner },
      {
        key: "act",
        title: "",
        width: 52,
        align: "right",
        render: (row) => (
          <IfMay role="operator" cluster={cluster}>
            <ScheduleMenu cluster={cluster} schedule={row} leave={leave} />
          </IfMay>
        ),
      },
    ],
    [t, nameOf, cluster, leave],
  );
}

interface MenuProps {
  cluster: string;
  schedule: Schedule;
  leave: (schedule: Schedule) => void;
}

function ScheduleMenu({ cluster, schedule, leave }: MenuProps) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const params = { cluster, schedule: Number(schedule.id) };
  const settled = {
    onError: (error: unknown) => notifyProblem(schedule.name, error),
    onSettled: () => refresh(client, SCHEDULES),
  };
  const turn = useMutation({
    mutationFn: () => patch(ONE, { params, body: { is_enabled: !schedule.is_enabled } as Change }),
    ...settled,
  });
  const run = useMutation({
    mutationFn: () => post(`${ONE}run/`, { params }),
    onSuccess: () => notify(t("schedules.started"), schedule.name),
    onError: (error) => notifyProblem(schedule.name, error),
  });
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon aria-label={`${shared("action.more")}: ${schedule.name}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPlayerPlay size={14} />} onClick={() => run.mutate()}>
            {t("schedules.runNow")}
          </Menu.Item>
          <Menu.Item leftSection={<IconPlayerPause size={14} />} onClick={() => turn.mutate()}>
            {schedule.is_enabled ? t("schedules.pause") : t("schedules.resume")}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash size={14} />} onClick={() => leave(schedule)}>
            {t("schedules.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
