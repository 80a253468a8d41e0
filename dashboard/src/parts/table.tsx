// A table that stays a table on a phone: less important columns are hidden there.
import type { ComponentChildren } from "preact";

export interface Column<R> {
  name: string;
  cell: (row: R) => ComponentChildren;
  /** Hidden on a phone. */
  wide?: boolean;
  /** Shown only on a wide screen. */
  widest?: boolean;
  /** Aligned to the right, for numbers. */
  right?: boolean;
  /** As narrow as its content. */
  tight?: boolean;
}

interface TableProps<R> {
  caption: string;
  columns: Column<R>[];
  rows: R[];
  /** The key of a row. */
  id: (row: R) => string;
  /** Whether the last column moves below the others on a phone. */
  stacks?: boolean;
}

const LOOKS = ["wide", "widest", "right", "tight"] as const;
const listClasses = <R,>(column: Column<R>) => LOOKS.filter((name) => column[name]).join(" ");

export const Table = <R,>({ caption, columns, rows, id, stacks }: TableProps<R>) => (
  <div class={stacks ? "table stacks" : "table"}>
    <table>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" class={listClasses(column)}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={id(row)}>
            {columns.map((column) => (
              <td key={column.name} class={listClasses(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
