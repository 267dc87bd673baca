export { migratePostgres } from "./inspect.ts";
export { postgresArtifacts } from "./artifacts.ts";
export type { PostgresConnection, PostgresLogOptions } from "./options.ts";
export { postgresLog } from "./postgres-log.ts";
export type { PostgresLog } from "./postgres-log.ts";
export type { Migrated } from "./schema/migrate.ts";
export { postgresSecrets } from "./secrets.ts";
export { shardedPostgresLog } from "./sharded-log.ts";
export type { ShardedPostgresLogOptions } from "./sharded-log.ts";
