import type { ComponentChildren, VNode } from "preact";

/** A column of a table of sums. */
export interface SumColumn<Row> {
  readonly label: string;
  /** Whether it is left out where there is little room. */
  readonly isMinor?: boolean;
  readonly isText?: boolean;
  cell(row: Row): ComponentChildren;
}

interface SumsTableProps<Row> {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly columns: readonly SumColumn<Row>[];
  keyOf(row: Row): string;
  /** The part of the whole that a row has, which is drawn below its name. */
  share?(row: Row): number;
  /** What is said if there are no rows. */
  readonly none: string;
}

/** Sums in groups: their name, and numbers below each other. */
export function SumsTable<Row>({ title, rows, columns, keyOf, share, none }: SumsTableProps<Row>): VNode {
  const toClass = ({ isMinor = false, isText = false }: SumColumn<Row>): string =>
    `${isMinor ? "minor" : ""} ${isText ? "" : "number"}`.trim();
  return (
    <section class="sums" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="second">{none}</p>
      ) : (
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.label} scope="col" class={toClass(column)}>
                  {column.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column, at) =>
                  at === 0 ? (
                    <th key={column.label} scope="row">
                      {column.cell(row)}
                      {share !== undefined && (
                        <span class="share" style={{ width: `${Math.round(share(row) * 100)}%` }} />
                      )}
                    </th>
                  ) : (
                    <td key={column.label} class={toClass(column)}>
                      {column.cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows.length > SHOWN && (
        <p class="second">
          The first {SHOWN} of {rows.length.toLocaleString()}. <code>npx troupe stats</code> lists all.
        </p>
      )}
    </section>
  );
}

const SHOWN = 50;
