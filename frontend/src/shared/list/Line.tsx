/** One row of a table. Drawn again only when it changed: live lists change a few rows a second. */
import { Checkbox } from "@mantine/core";
import { memo } from "react";
import { useShared } from "@/shared/texts/shared";
import type { Column } from "./columns";
import classes from "./DataTable.module.css";

interface Props<Row> {
  at: number;
  /** Its place in the whole list, from 2: the head is the first row. */
  number: number;
  row: Row;
  name: string;
  columns: readonly Column<Row>[];
  isActive: boolean;
  isSelected?: boolean;
  onActivate: (at: number) => void;
  onOpen?: (row: Row) => void;
  onSelect?: () => void;
}

function LineOf<Row>({ at, number, row, name, columns, isActive, isSelected, ...on }: Props<Row>) {
  const t = useShared();
  function open(event: React.MouseEvent) {
    const isElsewhere = (event.target as HTMLElement).closest("a,button,input,label,[role=menuitem]");
    if (!isElsewhere && window.getSelection()?.isCollapsed !== false) on.onOpen?.(row);
  }
  function press(event: React.KeyboardEvent) {
    if (event.target !== event.currentTarget) return;
    if (event.key === "Enter") on.onOpen?.(row);
    if (event.key === " " && on.onSelect) {
      event.preventDefault();
      on.onSelect();
    }
  }
  return (
    <tr
      data-at={at}
      aria-rowindex={number}
      aria-selected={on.onSelect ? isSelected : undefined}
      tabIndex={isActive ? 0 : -1}
      className={`${on.onOpen ? classes.opens : ""} ${isSelected ? classes.selected : ""}`}
      onFocus={() => on.onActivate(at)}
      onClick={on.onOpen && open}
      onKeyDown={press}
    >
      {on.onSelect && (
        <td>
          <Checkbox
            aria-label={t("table.select", { name })}
            checked={isSelected}
            onChange={on.onSelect}
            tabIndex={-1}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.key} className={column.align === "right" ? classes.right : ""}>
          {column.render(row)}
        </td>
      ))}
    </tr>
  );
}

export const Line = memo(
  LineOf,
  (before, after) =>
    before.row === after.row &&
    before.at === after.at &&
    before.number === after.number &&
    before.columns === after.columns &&
    before.isActive === after.isActive &&
    before.isSelected === after.isSelected,
) as typeof LineOf;
