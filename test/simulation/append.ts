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
export function copyOf({ events, records, run, requests, alias, snapshot }: Batch): Batch {
  const rest = JSON.parse(JSON.stringify({ records, run, requests, snapshot })) as Batch;
  return { ...rest, events: [...events], ...(alias !== undefined && { alias }) };
}
