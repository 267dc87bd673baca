export { DamagedLog, DirectoryInUse } from "./errors.ts";
export type { SqliteLogOptions } from "./options.ts";
export { sqliteLog } from "./sqlite-log.ts";
