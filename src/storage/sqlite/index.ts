export { DamagedLog, DirectoryInUse } from "./format/errors.ts";
export type { SqliteLogOptions } from "./sqlite-log.ts";
export { sqliteLog } from "./sqlite-log.ts";
