import { memoryLog } from "troupe";
import type { Batch, EventLog } from "../../src/ports/event-log.ts";

/** What a test does when a log is used. */
export interface LogWatch {
  /** Called with each batch before it is appended. */
  readonly append?: (batch: Batch) => void;
  /** Called and awaited before each read. */
  readonly read?: () => void | Promise<void>;
}

/** A log in memory that tells what is done with it. */
export function watchedLog({ append = () => {}, read = () => {} }: LogWatch): EventLog {
  const log = memoryLog();
  return {
    ...log,
    append(cursor, batch) {
      append(batch);
      return log.append(cursor, batch);
    },
    async read(runId, options) {
      await read();
      return log.read(runId, options);
    },
  };
}
