/** A table without rows: still reading, nothing there, nothing that fits. */
import { Button } from "@mantine/core";
import { IconFilterOff, IconListSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import type { Column } from "./columns";
import classes from "./DataTable.module.css";

const ROWS = 12;

export function Placeholder<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  return Array.from({ length: ROWS }, (_, at) => (
    <tr key={at} aria-hidden>
      {columns.map((column) => (
        <td key={column.key} className={column.align === "right" ? classes.right : ""}>
          <span
            className={classes.bone}
            style={{ width: `${45 + ((at * 17 + column.key.length * 13) % 45)}%` }}
          />
        </td>
      ))}
    </tr>
  ));
}

export function NothingHere({ empty, onClearFilters }: { empty?: ReactNode; onClearFilters?: () => void }) {
  const t = useShared();
  if (!onClearFilters)
    return empty ?? <EmptyState icon={<IconListSearch size={28} />} title={t("table.empty")} />;
  return (
    <EmptyState
      icon={<IconFilterOff size={28} />}
      title={t("table.nothingFits")}
      action={
        <Button variant="default" mt="xs" onClick={onClearFilters}>
          {t("table.clearFilters")}
        </Button>
      }
    />
  );
}
