import type { Batch } from "../../../ports/log-batch.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import { encodeBody } from "../../sql/body.ts";
import { encodeChanges } from "../../sql/changes.ts";
import { startOfBatch } from "../../sql/claims.ts";
import type { OwnedRun } from "../../sql/claims.ts";
import type { RequestId } from "../../../protocol/ids.ts";
import { fromRequestKey } from "../../shared/owned-keys.ts";
import type { EventList } from "../../shared/event-list.ts";
import type { KnownChanges } from "./message.ts";

/** A claimed run. */
export interface ClaimedRun extends OwnedRun {
  /** 0 until the first append, so that runs are numbered in the order of their creation. */
  rid: number;
  /** Whether its removal has started; the rest of the run can disappear at any time then. */
  leaving: boolean;
  /** The newest committed events, which the database has in no chunk yet. */
  recent: EventList;
  /** Their bytes in the database. */
  recentBytes: number;
  /** Incomplete requests that this claim has marked. */
  readonly requests: Set<RequestId>;
}

/** An encoded append. */
export interface Append {
  readonly position: readonly [first: number, last: number, recordsEnd: number];
  /** The events, joined by line breaks. */
  readonly body: string;
  /** The records as JSON. */
  readonly records: string | null;
  readonly changes: KnownChanges | null;
  /** Whether it shares a row with appends of other runs. */
  readonly isRecent: boolean;
  /** The bytes of the body, known when it is sent to the writer. */
  bytes: number;
}

/** Encodes an append for the writer. */
export function encodeAppend(run: ClaimedRun, batch: Batch): Append {
  const { events, records } = batch;
  const changes = encodeKnown(run, batch);
  const body = encodeBody(events);
  const place = startOfBatch(run, batch);
  return {
    position: [place.head + 1, place.head + countEvents(events), place.records + records.length],
    body,
    records: records.length === 0 ? null : JSON.stringify(records),
    changes,
    isRecent:
      changes === null && records.length === 0 && events.length > 0 && body.length <= RECENT_CHARACTERS,
    bytes: 0,
  };
}

/** Longer appends become chunks at once, because their bytes cost more than the row. */
const RECENT_CHARACTERS = 4_096;

function encodeKnown(run: ClaimedRun, batch: Batch): KnownChanges | null {
  const changes = encodeChanges(run, batch);
  if (changes === null) return null;
  const { agent, createdAt } = batch.run ?? {};
  const { row, requests } = run;
  return {
    ...changes,
    ...(!run.stored && { runId: run.runId }),
    ...(batch.run && { isGiven: agent !== row.agent || createdAt !== row.createdAt }),
    ...(changes.requests && {
      known: changes.requests.map(([request]) => requests.has(fromRequestKey(request))),
    }),
  };
}
