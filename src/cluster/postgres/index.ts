export { postgresArtifacts } from "./artifacts.ts";
export type { PostgresConnection, PostgresLogOptions } from "./options.ts";
export { postgresLog } from "./postgres-log.ts";
export type { PostgresLog } from "./postgres-log.ts";
export { postgresSecrets } from "./secrets.ts";
