export { DamagedLog, DirectoryInUse } from "./errors.ts";
export { sqliteLog } from "./sqlite-log.ts";
export type { SqliteLogOptions } from "./sqlite-log.ts";
