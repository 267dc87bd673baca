import { checkReadable } from "../../ports/encryption.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Base, RecordPosition } from "../../ports/log-batch.ts";
import { countTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RecordBody } from "../journal/records.ts";
import { toForgotten } from "./beginning.ts";

/** A record with its position in the log. */
export type PlacedRecord = RecordBody & RecordPosition;

/** A part of a log: after an event and a record, up to an event. */
export interface Range {
  readonly head: number;
  readonly records: number;
  readonly end?: number;
}

/** Receives the entries of a log. */
export interface Visitor {
  event(text: string): void;
  texts(texts: Texts): void;
  record(record: PlacedRecord): void;
  /** The range begins before the base of the run, from which on the entries follow. Without it that is an error. */
  base?(base: Base): void;
}

/** Visits the events and records of a run in the order of their appends. */
export async function forEachEntry(
  log: EventLog,
  runId: RunId,
  range: Range,
  visitor: Visitor,
): Promise<void> {
  const { end = Infinity } = range;
  let lastRecord = range.records;
  for (let after = range.head; ;) {
    const page = await log.read(runId, { after, afterRecord: lastRecord, ...PAGE });
    const { events, records, head, cut = false, base } = page;
    if (base) {
      checkReadable(runId, base.data);
      if (visitor.base === undefined || end < base.head) throw toForgotten(runId, base);
      visitor.base(base);
      after = base.head;
      lastRecord = Math.max(lastRecord, base.records);
    }
    let next = 0;
    const visitRecords = (upTo: number): void => {
      for (let record = records[next]; record !== undefined && record.after <= upTo; record = records[next]) {
        next += 1;
        // Two pages both contain the records at their border.
        if (record.n <= lastRecord) continue;
        lastRecord = record.n;
        checkReadable(runId, record);
        if (record.after < end) visitor.record(record as unknown as PlacedRecord);
      }
    };
    visitRecords(after);
    for (const item of events) {
      if (typeof item === "string") {
        after += 1;
        if (after > end) return;
        checkReadable(runId, item);
        visitor.event(item);
        visitRecords(after);
        continue;
      }
      const count = countTexts(item);
      for (let seen = 0; seen < count;) {
        // Up to the next record, which may be between two of the texts.
        const upTo = Math.min(records[next]?.after ?? Infinity, end, after + count - seen);
        if (upTo <= after) return;
        visitor.texts(sliceTexts(item, seen, upTo - after));
        seen += upTo - after;
        after = upTo;
        visitRecords(after);
      }
    }
    if (!cut && (events.length === 0 || after >= head)) return;
  }
}

const PAGE = { limit: 10_000, limitBytes: 8 * 1_048_576, records: true };
