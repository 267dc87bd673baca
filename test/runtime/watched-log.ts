import { memoryLog } from "troupe";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { Batch } from "../../src/ports/log-batch.ts";

/** Callbacks of a test for uses of a log. */
export interface LogWatch {
  /** Called with each batch before it is appended. */
  readonly append?: (batch: Batch) => void;
  /** Called and awaited before each read. */
  readonly read?: () => void | Promise<void>;
}

/** A memory log that reports its uses. */
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
