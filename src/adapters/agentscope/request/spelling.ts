import { isObject } from "../../../protocol/json.ts";
import type { Fields } from "../../../protocol/json.ts";
import { toCamel } from "../dialect/names.ts";

/** The known fields of an object in the protocol's spelling, and its other fields as they were given. */
export interface SpelledFields {
  readonly known: Fields;
  readonly others: Fields;
}

/** Reads the known fields of an object in either spelling, `session_id` or `sessionId`. Null counts as absent. */
export function readFields(object: Fields, names: readonly string[]): SpelledFields {
  const others = new Map(Object.entries(object));
  const known: [string, unknown][] = [];
  for (const name of names) {
    const spellings = [name, toCamel(name)];
    const given = spellings.find((spelling) => (others.get(spelling) ?? null) !== null);
    if (given !== undefined) known.push([name, others.get(given)]);
    for (const spelling of spellings) others.delete(spelling);
  }
  return { known: Object.fromEntries(known), others: Object.fromEntries(others) };
}

/** Reads each object of a list; any other value stays as it is, for a schema to refuse. */
export function readItems(items: unknown, read: (item: Fields) => Fields): unknown {
  return Array.isArray(items) ? items.map((item: unknown) => (isObject(item) ? read(item) : item)) : items;
}
