import { afterAll } from "vitest";
import { shardedPostgresLog } from "troupe/postgres";
import type { PostgresLog, PostgresLogOptions } from "troupe/postgres";
import type { EventLog } from "../../../../src/ports/event-log.ts";
import { postgresUrl } from "../../../machine/postgres.ts";
import { query } from "../logs.ts";

const schemas = new WeakMap<EventLog, readonly string[]>();

/**
 * The schemas of an empty log, which the tests of a file have one after the other: to create four of them takes longer than most tests.
 */
export function reusedSchemas(count: number): () => Promise<readonly string[]> {
  const names = Array.from(
    { length: count },
    (_, at) => `several_${process.pid}_${Date.now()}_${count}_${at}`,
  );
  let isFirst = true;
  afterAll(async () => {
    if (!isFirst) await query(names.map((name) => `DROP SCHEMA IF EXISTS ${name} CASCADE`).join("; "));
  });
  return async () => {
    if (!isFirst) await empty(names);
    isFirst = false;
    return names;
  };
}

/** Deletes what schemas have, except for which databases of a log they are. */
async function empty(names: readonly string[]): Promise<void> {
  const tables = await query(
    "SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname = ANY ($1) AND tablename <> ALL ($2)",
    [names, ["migration", "expansion", "part", "shard", "probe", "statistic_place"]],
  );
  await query(
    [
      ...tables.map(({ name }) => `DELETE FROM ${String(name)}`),
      ...names.map(
        (name) => `UPDATE ${name}.statistic_place SET summed = 0, summing = 0, version = version + 1`,
      ),
    ].join("; "),
  );
}

/** Opens a log in several schemas. */
export async function openSchemas(
  names: readonly string[],
  options: Pick<PostgresLogOptions, "listenUrl" | "node" | "secretsKey"> = {},
): Promise<PostgresLog> {
  const url = await postgresUrl();
  const databases = names.map((schema) => ({ url, schema, max: 2 }));
  const log = await shardedPostgresLog({ databases, ...options });
  schemas.set(log, names);
  return log;
}

export function schemasOf(log: EventLog): readonly string[] {
  return schemas.get(log) ?? [];
}
