import { AgentError } from "../../../errors.ts";
import type { Database } from "../connection/database.ts";
import { RIGHTS_HINT, SCHEMA_HINT } from "../connection/open-error.ts";
import { MIGRATIONS } from "./migrate.ts";

/** Refuses a database that lacks a table or a function of the log, or whose role may not use one of them. */
export async function checkObjects(database: Database): Promise<void> {
  const found = await database.once<Found>(FIND, [database.schema]);
  const usable = new Map(found.map(({ kind, name, allowed }) => [`${kind} ${name}`, allowed]));
  const missing = OBJECTS.filter((object) => !usable.has(object));
  if (missing.length > 0) {
    const what = `the schema ${database.schema} in the database is not that of a log, or not all of it`;
    throw new AgentError("invalid_request", `${what}: ${database.address}: ${some(missing)} is missing`, {
      hint: SCHEMA_HINT,
    });
  }
  const forbidden = OBJECTS.filter((object) => usable.get(object) === false);
  if (forbidden.length > 0) {
    const what = "the user lacks rights in the database";
    throw new AgentError(
      "forbidden",
      `${what}: ${database.address}: permission denied for ${some(forbidden)}`,
      {
        hint: RIGHTS_HINT,
      },
    );
  }
}

/** Whether the role may create the schema of the log, or the tables in the one that is there. */
export async function canCreate(database: Database): Promise<boolean> {
  const [row] = await database.once<{ allowed: boolean }>(MAY_CREATE, [database.schema]);
  return row?.allowed === true;
}

/** The tables, sequences and functions that a node uses. */
const OBJECTS: readonly string[] = [
  ...MIGRATIONS.join("").matchAll(/^CREATE (?:UNLOGGED )?(SEQUENCE|TABLE|FUNCTION) troupe\.(\w+)/gm),
].map(([, kind = "", name = ""]) => `${kind.toLowerCase()} ${name}`);

function some(objects: readonly string[]): string {
  const [first = "", ...others] = objects;
  return others.length === 0 ? first : `${first} (and for ${others.length} more)`;
}

interface Found {
  readonly kind: "sequence" | "table" | "function";
  readonly name: string;
  readonly allowed: boolean;
}

const FIND = `
  SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END AS kind, relname AS name,
      CASE relkind WHEN 'S' THEN has_sequence_privilege(pg_class.oid, 'USAGE')
        ELSE has_table_privilege(pg_class.oid, 'SELECT') AND has_table_privilege(pg_class.oid, 'INSERT')
          AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE')
      END AS allowed
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relkind IN ('r', 'p', 'S')
  UNION ALL
  SELECT 'function', proname, has_function_privilege(pg_proc.oid, 'EXECUTE')
    FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname = $1`;

const MAY_CREATE = `
  SELECT coalesce(
    (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1),
    has_database_privilege(current_database(), 'CREATE')) AS allowed`;
