/** Deleted clusters that can be brought back. */
import { Button, Stack, Text } from "@mantine/core";
import { IconRestore } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { type Answer, post } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { EmptyState } from "@/shared/ui/EmptyState";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { useTexts } from "../texts";

type Deleted = Answer<"/clusters/">["results"][number];

export function RestoreList() {
  const t = useTexts();
  const [asked, setAsked] = useState<string | null>(null);
  const read = useGet("/clusters/", { query: { deleted: true, limit: 500 } });
  const columns = useMemo<Column<Deleted>[]>(
    () => [
      { key: "name", title: t("restore.name"), render: (row) => <b>{row.name}</b> },
      {
        key: "deleted",
        title: t("restore.deleted"),
        width: 150,
        render: (row) => <RelativeTime at={row.deleted_at} />,
      },
      {
        key: "profile",
        title: t("restore.profile"),
        width: 130,
        from: 500,
        render: (row) => t(`profile.${row.profile}`),
      },
      {
        key: "open",
        title: "",
        width: 120,
        align: "right",
        render: (row) => (
          <Button variant="default" onClick={() => setAsked(row.name)}>
            {t("restore.open")}
          </Button>
        ),
      },
    ],
    [t],
  );
  return (
    <Stack gap="sm">
      <Text size="sm">{t("restore.lead")}</Text>
      <DataTable
        label={t("restore.list")}
        columns={columns}
        rows={read.data?.results}
        rowKey={(row) => `${row.name}/${row.deleted_at ?? ""}`}
        rowName={(row) => row.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        fill={false}
        empty={<EmptyState icon={<IconRestore size={28} />} title={t("restore.none")} />}
      />
      {asked !== null && (
        <OperationDialog
          opened
          onClose={() => setAsked(null)}
          title={t("restore.title", { cluster: asked })}
          applyLabel={t("restore.open")}
          ask={(isDryRun) =>
            post("/clusters/{cluster}/restore/", { params: { cluster: asked }, query: { dry_run: isDryRun } })
          }
        />
      )}
    </Stack>
  );
}
