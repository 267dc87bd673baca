import { AgentError } from "../../errors.ts";
import { DamagedLog, DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { EXIT, Exit } from "../exit.ts";

/** What mends a directory that cannot be opened. */
export interface DirectoryHints {
  readonly inUse: string;
  readonly damaged: string;
  readonly unusable: string;
}

/**
 * Opens what a data directory contains: the log, its files and its secrets. Turns an error into an exit with a line that
 * names the fix.
 */
export function openDirectory<Opened>(data: string, hints: DirectoryHints, open: () => Opened): Opened {
  try {
    return open();
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
