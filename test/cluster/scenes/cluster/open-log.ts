import { postgresLog, shardedPostgresLog } from "troupe/postgres";
import type { PostgresLog, PostgresLogOptions } from "troupe/postgres";

/** The names of the schemas of a log in several databases. */
export function schemasOf(schema: string, databases: number): readonly string[] {
  return Array.from({ length: databases }, (_, index) => (index === 0 ? schema : `${schema}_${index + 1}`));
}

/** Opens the log of the scenes in one database, or in several, which are schemas of one server. */
export function openSceneLog(
  { schema = "scenes", url, listenUrl, ...options }: PostgresLogOptions,
  databases: number,
): Promise<PostgresLog> {
  const way = { ...(url !== undefined && { url }), ...(listenUrl !== undefined && { listenUrl }) };
  if (databases === 1) return postgresLog({ ...options, ...way, schema });
  const names = schemasOf(schema, databases);
  return shardedPostgresLog({ ...options, databases: names.map((name) => ({ ...way, schema: name })) });
}
