import type { Cursor } from "../../../src/ports/event-log.ts";
import type { Batch } from "../../../src/ports/log-batch.ts";
import type { Doer } from "../scheduler.ts";

/** A requested append, its process, and its callbacks. */
export interface Append {
  readonly doer: Doer;
  readonly cursor: Cursor;
  readonly batch: Batch;
  resolve(cursor: Cursor): void;
  reject(error: Error): void;
}

/** The cursor after a batch. */
export function headAfter({ runId, epoch, head, records }: Cursor, batch: Batch): Cursor {
  return { runId, epoch, head: head + batch.events.length, records: records + batch.records.length };
}

/** A batch as a log on disk would store it. */
export function copyOf({ events, records, snapshot, ...rest }: Batch): Batch {
  return {
    ...rest,
    events: [...events],
    records: records.length === 0 ? [] : throughJson(records),
    ...(snapshot !== undefined && { snapshot: throughJson(snapshot) }),
  };
}

function throughJson<Data>(data: Data): Data {
  return JSON.parse(JSON.stringify(data)) as Data;
}
