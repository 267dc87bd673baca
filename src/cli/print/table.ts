import { styled, stdout } from "./terminal.ts";
import { toLine } from "./text.ts";

/** Prints rows in columns as wide as their widest cell. Without rows it prints nothing. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  const cells = [heads, ...rows].map((row) => row.map(toLine));
  const widths = heads.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  for (const [index, row] of cells.entries()) {
    const line = row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join("  ");
    stdout.cutLine(index === 0 ? styled("dim", line) : line);
  }
}
