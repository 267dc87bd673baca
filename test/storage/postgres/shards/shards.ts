import { shardedPostgresLog } from "troupe/postgres";
import type { PostgresLogOptions } from "troupe/postgres";
import type { EventLog } from "../../../../src/ports/event-log.ts";
import { postgresUrl } from "../../../machine/postgres.ts";
import { newSchema } from "../logs.ts";

const schemas = new WeakMap<EventLog, readonly string[]>();

/** Opens an empty log in several databases, which are schemas of one server here. */
export async function openSharded(count: number): Promise<EventLog> {
  return openSchemas(Array.from({ length: count }, newSchema));
}

/** Opens a log in several schemas. */
export async function openSchemas(
  names: readonly string[],
  options: Pick<PostgresLogOptions, "listenUrl" | "node"> = {},
): Promise<EventLog> {
  const url = await postgresUrl();
  const databases = names.map((schema) => ({ url, schema, max: 2 }));
  const log = await shardedPostgresLog({ databases, ...options });
  schemas.set(log, names);
  return log;
}

export function schemasOf(log: EventLog): readonly string[] {
  return schemas.get(log) ?? [];
}
