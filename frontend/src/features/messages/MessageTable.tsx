/** Messages in a table: when, tag, keys, the beginning of the body, where they lie. A row opens its message. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { Column } from "@/shared/list/columns";
import { DataTable } from "@/shared/list/DataTable";
import { BodyLine, KeysCell, type Message, Place, StoredAt, TagCell } from "@/shared/message/cells";
import { useTexts as useMessageTexts } from "@/shared/message/texts";
import { Bytes } from "@/shared/ui/Figure";

interface Props {
  cluster: string;
  label: string;
  messages: readonly Message[] | undefined;
  error?: unknown;
  onRetry?: () => void;
  isFetching?: boolean;
  empty?: ReactNode;
}

export function MessageTable({ cluster, label, messages, ...rest }: Props) {
  const navigate = useNavigate();
  const columns = useMessageColumns();
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={messages}
      rowKey={(row) => row.offset_id}
      rowName={(row) => row.msg_id}
      onOpen={(row) =>
        void navigate({
          to: "/clusters/$cluster/messages/$id",
          params: { cluster, id: row.offset_id },
          search: { topic: row.topic },
        })
      }
      {...rest}
    />
  );
}

function useMessageColumns(): Column<Message>[] {
  const t = useMessageTexts();
  return useMemo(
    () => [
      {
        key: "stored",
        title: t("column.stored"),
        width: 216,
        render: (row) => <StoredAt at={row.stored_at} />,
      },
      {
        key: "tag",
        title: t("column.tag"),
        width: 130,
        from: 620,
        render: (row) => <TagCell tag={row.tags} />,
      },
      {
        key: "keys",
        title: t("column.keys"),
        width: 170,
        from: 480,
        render: (row) => <KeysCell keys={row.keys} />,
      },
      { key: "body", title: t("column.body"), render: (row) => <BodyLine body={row.body} /> },
      {
        key: "place",
        title: t("column.place"),
        width: 190,
        from: 1000,
        render: (row) => <Place message={row} />,
      },
      {
        key: "size",
        title: t("column.size"),
        width: 84,
        from: 760,
        align: "right",
        render: (row) => <Bytes value={row.body.size} />,
      },
    ],
    [t],
  );
}
