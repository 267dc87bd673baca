/** One line of the results. */
export interface Result {
  readonly what: string;
  readonly measured: string;
  readonly limit: string;
  /** Undefined if it could not be measured. */
  readonly met: boolean | undefined;
}

/** Compares a number with its maximum. */
export function atMost(
  what: string,
  measured: number,
  limit: number,
  show: (value: number) => string = times,
): Result {
  return { what, measured: show(measured), limit: `≤ ${show(limit)}`, met: measured <= limit };
}

/** Compares a number with its minimum. */
export function atLeast(
  what: string,
  measured: number,
  limit: number,
  show: (value: number) => string,
): Result {
  return { what, measured: show(measured), limit: `≥ ${show(limit)}`, met: measured >= limit };
}

/** Reports why something was not measured. */
export function skipped(what: string, why: string): Result {
  return { what, measured: why, limit: "", met: undefined };
}

export const times = (value: number): string => `${value.toFixed(2)}×`;
export const megabytes = (value: number): string => `${value.toFixed(0)} MB`;
export const kilobytes = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;
export const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
export const microseconds = (value: number): string => `${value.toFixed(1)} µs`;

/** Formats results as a table. */
export function toResultTable(results: readonly Result[]): string {
  const rows = results.map(({ what, measured, limit, met }) => [
    what,
    measured,
    met === false ? `${limit} (missed)` : limit,
  ]);
  return toTable([["what", "measured", "goal"], ...rows]);
}

/** Formats rows of cells as columns; the first row is the header. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
