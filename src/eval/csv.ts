import { AgentError } from "../errors.ts";
import type { Json } from "../protocol/json.ts";
import type { EvalCase } from "./case.ts";

/**
 * Makes cases from a table with the columns `input` and, if wanted, `expected`, `operation` and `id`: each row is a conversation of
 * one turn. A field that is JSON of an object or a list is that value. Throws `invalid_request` with the row of the first fault.
 */
export function casesFromCsv(csv: string, agent: string): readonly EvalCase[] {
  const [header = [], ...rows] = parseCsv(csv);
  const columns = header.map((name) => name.trim().toLowerCase());
  if (!columns.includes("input"))
    throw new AgentError(
      "invalid_request",
      `the table has no column input: its columns are ${columns.join(", ")}`,
    );
  const ids = new Set<string>();
  return rows.map((row, index) => {
    if (row.length !== columns.length)
      throw new AgentError(
        "invalid_request",
        `row ${index + 2} has ${row.length} fields, the header ${columns.length}`,
      );
    const field = (name: string): string | undefined => row[columns.indexOf(name)];
    const {
      operation = "chat",
      expected,
      id,
    } = {
      operation: field("operation") || undefined,
      expected: field("expected"),
      id: field("id") || undefined,
    };
    const input = field("input") ?? "";
    const name = id ?? `row-${index + 2}`;
    if (ids.has(name)) throw new AgentError("invalid_request", `row ${index + 2} has the id ${name} again`);
    ids.add(name);
    return {
      id: name,
      agent,
      turns: [
        {
          operation,
          input: operation === "chat" ? input : toValue(input),
          ...(expected !== undefined && expected !== "" && { expected: { output: toValue(expected) } }),
        },
      ],
    };
  });
}

function toValue(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The rows of a table as RFC 4180 writes it: fields in quotes may have commas, line breaks and doubled quotes. */
function parseCsv(csv: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  const text = csv.replace(/^\uFEFF/, "");
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) {
      const line = text.slice(0, at).split("\n").length;
      throw new AgentError("invalid_request", `line ${line} of the table has a quote in the wrong place`);
    }
    const [, quoted, plain = "", end] = match;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") {
      // A table may end with an empty field.
      if (pattern.lastIndex === text.length) row.push("");
      else continue;
    }
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}
