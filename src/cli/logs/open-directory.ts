import { AgentError } from "../../errors.ts";
import type { SqliteLogOptions } from "../../storage/sqlite/options.ts";
import { DamagedLog, DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { sqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import type { SqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import { EXIT, Exit } from "../exit.ts";

/** What mends a directory that cannot be opened. */
export interface DirectoryHints {
  readonly inUse: string;
  readonly damaged: string;
  readonly unusable: string;
}

/** Opens the log in a data directory, or creates it. */
export function openDirectory(
  data: string,
  hints: DirectoryHints,
  options: SqliteLogOptions = {},
): SqliteLog {
  try {
    return sqliteLog(data, options);
  } catch (thrown) {
    if (thrown instanceof DirectoryInUse) {
      throw new Exit(EXIT.inUse, `${data} is in use by another process`, hints.inUse);
    }
    if (thrown instanceof DamagedLog) {
      throw new Exit(EXIT.damaged, `the log in ${data} is damaged: ${thrown.message}`, hints.damaged);
    }
    if (thrown instanceof AgentError) {
      throw new Exit(EXIT.data, thrown.message, thrown.details.hint ?? hints.unusable);
    }
    const { code, path } = thrown as NodeJS.ErrnoException;
    if (code === undefined) throw thrown;
    throw new Exit(EXIT.data, `${path ?? data} cannot be used: ${code}`, hints.unusable);
  }
}
