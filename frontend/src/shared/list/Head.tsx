/** The head of a table: names of columns, and sorting by them. */
import { Checkbox } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useShared } from "@/shared/texts/shared";
import { type Column, nextOrder, orderOf } from "./columns";
import classes from "./DataTable.module.css";
import { allToggled, type Selection } from "./selection";

interface Props<Row> {
  columns: readonly Column<Row>[];
  sort?: string;
  onSort?: (order: string) => void;
  selection?: Selection;
  keys: readonly string[];
}

export function Head<Row>({ columns, sort = "", onSort, selection, keys }: Props<Row>) {
  const t = useShared();
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection && (
          <th style={{ width: 36 }}>
            <Checkbox
              aria-label={t("table.selectAll")}
              checked={keys.length > 0 && keys.every((key) => selection.keys.has(key))}
              indeterminate={
                keys.some((key) => selection.keys.has(key)) && !keys.every((key) => selection.keys.has(key))
              }
              onChange={() => selection.onChange(allToggled(selection.keys, keys))}
            />
          </th>
        )}
        {columns.map((column) => {
          const order = orderOf(column, sort);
          return (
            <th
              key={column.key}
              scope="col"
              style={{ width: column.width }}
              className={column.align === "right" ? classes.right : ""}
              aria-sort={column.sort && onSort ? order : undefined}
            >
              {column.sort && onSort ? (
                <button
                  type="button"
                  className={classes.sort}
                  title={t("table.sortBy", { column: column.title })}
                  onClick={() => onSort(nextOrder(column, sort))}
                >
                  {column.title}
                  {order === "ascending" && <IconArrowUp size={13} aria-hidden />}
                  {order === "descending" && <IconArrowDown size={13} aria-hidden />}
                </button>
              ) : (
                column.title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
