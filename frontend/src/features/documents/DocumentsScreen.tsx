/** Declarative documents that concern a cluster: which were applied, what differs now, planning and applying. */
import { Button, Text } from "@mantine/core";
import { IconFileText, IconLock, IconPlus } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useGet } from "@/shared/api/queries";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { useRights } from "@/shared/session/session";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Page } from "@/shared/ui/Page";
import { PageHeader } from "@/shared/ui/PageHeader";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { UrlTabs } from "@/shared/ui/UrlTabs";
import { useSearchState } from "@/shared/url/use_search";
import type { components } from "@/types/api.gen";
import { DriftPanel } from "./DriftPanel";
import { Editor } from "./Editor";
import { documentsSearch } from "./search";
import { templateOf } from "./template";
import { useTexts } from "./texts";

type Row = components["schemas"]["DocumentRow"];

export function DocumentsScreen() {
  const t = useTexts();
  const { cluster = "" } = useParams({ strict: false });
  const isAdmin = useRights().may("admin");
  const { search, setSearch } = useSearchState(documentsSearch);
  /** What the editor begins with; kept while tabs change. */
  const [text, setText] = useState("");
  const tabs = (["documents", "plan"] as const).map((tab) => [tab, t(`tab.${tab}`)] as const);
  return (
    <Page>
      <PageHeader
        title={t("title")}
        crumbs={[{ label: cluster, link: { to: "/clusters/$cluster", params: { cluster } } }]}
      >
        <Text size="sm" c="dimmed">
          {t("intro")}
        </Text>
      </PageHeader>
      {isAdmin ? (
        <UrlTabs
          tabs={tabs}
          value={search.tab}
          onChange={(tab) => setSearch({ tab }, { replace: false })}
          fill
        >
          {search.tab === "documents" && (
            <Applied
              cluster={cluster}
              name={search.name}
              onOpen={(name) => setSearch({ name }, { replace: false })}
              onEdit={(next) => {
                setText(next);
                setSearch({ tab: "plan" }, { replace: false });
              }}
            />
          )}
          {search.tab === "plan" && <Editor text={text} onChange={setText} template={templateOf(cluster)} />}
        </UrlTabs>
      ) : (
        <EmptyState icon={<IconLock size={28} />} title={t("noRights")}>
          {t("noRightsDetail")}
        </EmptyState>
      )}
    </Page>
  );
}

interface AppliedProps {
  cluster: string;
  name: string;
  onOpen: (name: string) => void;
  onEdit: (text: string) => void;
}

function Applied({ cluster, name, onOpen, onEdit }: AppliedProps) {
  const t = useTexts();
  const read = useGet("/documents/", {});
  const rows = useMemo(
    () => read.data?.filter((row) => row.clusters.includes(cluster)),
    [read.data, cluster],
  );
  const columns = useColumns();
  return (
    <>
      {name !== "" && <DriftPanel key={name} name={name} onClose={() => onOpen("")} onEdit={onEdit} />}
      <DataTable
        label={t("list.label")}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.name}
        error={read.error}
        onRetry={() => void read.refetch()}
        onOpen={(row) => onOpen(row.name)}
        fill={name === ""}
        empty={
          <EmptyState
            icon={<IconFileText size={28} />}
            title={t("list.empty")}
            action={
              <Button
                mt="xs"
                leftSection={<IconPlus size={14} />}
                onClick={() => onEdit(templateOf(cluster))}
              >
                {t("list.new")}
              </Button>
            }
          >
            {t("list.emptyDetail")}
          </EmptyState>
        }
      />
    </>
  );
}

function useColumns(): Column<Row>[] {
  const t = useTexts();
  return useMemo(
    () => [
      { key: "name", title: t("list.name"), render: (row) => row.name },
      {
        key: "clusters",
        title: t("list.clusters"),
        width: 260,
        from: 560,
        render: (row) => row.clusters.join(", "),
      },
      { key: "by", title: t("list.by"), width: 140, from: 420, render: (row) => row.applied_by },
      { key: "at", title: t("list.at"), width: 140, render: (row) => <RelativeTime at={row.applied_at} /> },
    ],
    [t],
  );
}
