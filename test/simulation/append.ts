import type { Batch, Cursor } from "../../src/ports/event-log.ts";
import type { Doer } from "./scheduler.ts";

/** An append that was asked for, by whom, and how to answer it. */
export interface Append {
  readonly doer: Doer;
  readonly cursor: Cursor;
  readonly batch: Batch;
  resolve(cursor: Cursor): void;
  reject(error: Error): void;
}

/** The cursor behind a batch. */
export function headAfter({ runId, epoch, head, records }: Cursor, batch: Batch): Cursor {
  return { runId, epoch, head: head + batch.events.length, records: records + batch.records.length };
}

/** What a log on a disk makes of a batch. */
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
