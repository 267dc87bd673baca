export { DamagedLog, DirectoryInUse } from "./format/errors.ts";
export type { SqliteLogOptions } from "./options.ts";
export { sqliteLog } from "./sqlite-log.ts";
