// A table that stays one on a phone: columns that matter less step back there.

/** `columns`: {name, cell(row), wide (not on a phone), widest (only where there is room), right (numbers), tight (as narrow as what is
 * in it)}; with `stacks` the last one goes below the others on a phone. */
export function Table({ caption, columns, rows, id = (row) => row.id, stacks }) {
  const look = (column) => ["wide", "widest", "right", "tight"].filter((name) => column[name]).join(" ");
  return (
    <div class={stacks ? "table stacks" : "table"}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={look(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((column) => (
                <td key={column.name} class={look(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
