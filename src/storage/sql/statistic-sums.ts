import { DURATION_COLUMNS } from "./dialect.ts";

/** For how many hours a row of the sums is: an hour, a day, or a week. */
export type Span = 1 | 24 | 168;

export const HOUR: Span = 1;
export const DAY: Span = 24;
export const WEEK: Span = 168;

/** Hours that are read together: as rows of sums, or, with the span 0, as they were counted. */
export interface CoverPart {
  readonly span: Span | 0;
  readonly from: number;
  readonly until: number;
}

/** What sums there are, and which of them are read. */
interface CoverOptions {
  /** Of the hours from here on there are no sums, so the newest sum of each span has only what is before. */
  readonly summed: number;
  /** Whether the newest sums are read, where all hours are wanted that they have. */
  readonly takesNewest: boolean;
  readonly spans: readonly Span[];
  /** The span of what is in no row of the spans. */
  readonly smallest: Span | 0;
}

/** Divides hours into parts, each of which is read from the largest rows that are in it as a whole. */
export function coverHours(
  { from, until }: Omit<CoverPart, "span">,
  { summed, takesNewest, spans, smallest }: CoverOptions,
): readonly CoverPart[] {
  const end = Math.max(from, Math.min(until, summed));
  const sums = divide({ span: smallest, from, until: end }, spans, takesNewest && end === summed);
  const counted: CoverPart = { span: 0, from: end, until };
  return [...sums, counted].filter((part) => part.from < part.until);
}

function divide(
  part: CoverPart,
  [span, ...smaller]: readonly Span[],
  takesNewest: boolean,
): readonly CoverPart[] {
  if (span === undefined) return [part];
  const first = Math.ceil(part.from / span) * span;
  const last = takesNewest ? Math.ceil(part.until / span) * span : Math.floor(part.until / span) * span;
  if (first >= last) return divide(part, smaller, takesNewest);
  return [
    ...divide({ ...part, until: first }, smaller, false),
    { span, from: first, until: last },
    ...divide({ ...part, from: last }, smaller, takesNewest),
  ];
}

/** What completions have used. */
const USED = [
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
  "cost",
  "unknown_costs",
] as const;

/** The columns of the statistics that are added up, without and with those of the durations. */
export const COUNTED: readonly string[] = ["count", "ms", ...USED];
const SUMS: readonly string[] = [...COUNTED, ...DURATION_COLUMNS];

/** The columns of the sums by owner, which have turns and completions in one row, and what they are of a row that was counted. */
export const OWNER_SUMS: readonly (readonly [name: string, value: string])[] = [
  ["turns", "CASE kind WHEN 0 THEN count ELSE 0 END"],
  ["turn_ms", "CASE kind WHEN 0 THEN ms ELSE 0 END"],
  ["completions", "CASE kind WHEN 1 THEN count ELSE 0 END"],
  ["completion_ms", "CASE kind WHEN 1 THEN ms ELSE 0 END"],
  ...USED.map((name) => [name, name] as const),
];

/** The statement that adds rows to the sums of all owners, or takes them away. A schema that is released has it, so it never changes. */
export function addTotals(table: string, span: Span, rows: string, sign: "" | "-" = "", hours = ""): string {
  const columns = SUMS.map((name) => [name, name] as const);
  return addSums(`${table}_sum`, span, ["kind", "agent", "name", "outcome"], columns, { rows, sign, hours });
}

/** The same for the sums by owner. */
export function addOwners(table: string, span: Span, rows: string, sign: "" | "-" = ""): string {
  return addSums(`${table}_owner`, span, ["owner", "outcome"], OWNER_SUMS, { rows, sign, hours: "" });
}

function addSums(
  table: string,
  span: Span,
  key: readonly string[],
  columns: readonly (readonly [name: string, value: string])[],
  { rows, sign, hours }: { readonly rows: string; readonly sign: string; readonly hours: string },
): string {
  const names = columns.map(([name]) => name);
  return `INSERT INTO ${table} AS known (span, hour, ${key.join(", ")}, ${names.join(", ")}) ${hours}
    SELECT ${span}, hour / ${span} * ${span}, ${key.join(", ")}, ${columns.map(([, value]) => `${sign}sum(${value})`).join(", ")}
      ${rows} GROUP BY ${[2, ...key.map((_, at) => at + 3)].join(", ")}
    ON CONFLICT (span, hour, ${key.join(", ")}) DO UPDATE
      SET ${names.map((name) => `${name} = known.${name} + excluded.${name}`).join(", ")}`;
}
