import type { DatabaseSync } from "node:sqlite";
import type { Page } from "../../../ports/event-log.ts";
import type { Snapshot } from "../../../ports/log-entries.ts";
import type { Base } from "../../../ports/log-batch.ts";
import type { ReadOptions } from "../../../ports/log-queries.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { LoggedEvents } from "../../../protocol/events/texts.ts";
import { parseBody } from "../../sql/body.ts";
import { damaged, PageBuilder } from "../../sql/page-builder.ts";
import type { LogChunk } from "../../sql/page-builder.ts";
import { toChecksum } from "../format/chain.ts";

/** The row ids and head of a run in the database. */
export interface StoredRun {
  readonly runId: RunId;
  readonly rid: number;
  readonly removed: boolean;
  readonly head: number;
  readonly records: number;
}

type ReadRun = Pick<StoredRun, "runId" | "rid" | "head">;

/** Reads the events and records of runs. */
export interface Chunks {
  /** Finds a run and checks that its newest event is intact; `undefined` if nothing was appended to it. */
  checked(runId: RunId): StoredRun | undefined;
  /** Reads a page. */
  page(runId: RunId, options: ReadOptions): Page;
  /** Reads a page of a run whose newest event is known. */
  pageOf(run: ReadRun, options: ReadOptions): Page;
  snapshot(rid: number): Snapshot | undefined;
  /** The bytes of all chunks, or of the chunks of a run. */
  size(runId?: RunId): number;
}

/** Reads the events and records of runs from a database; verifies each chunk. */
export function createChunks(database: DatabaseSync): Chunks {
  const newest = `FROM run LEFT JOIN chunk ON chunk.seq =
      (SELECT seq FROM chunk WHERE rid = run.rid ORDER BY last DESC, seq DESC LIMIT 1)
    WHERE run_id = ?`;
  // The name from the run's row itself, not from the index that found the row.
  const own = "run.rid, (SELECT run_id FROM run AS named WHERE named.rid = run.rid) AS name, removed, head";
  // A flipped bit can change the type of a value to a number or null; the cast makes it a text again, whose
  // checksum is wrong.
  const texts = "CAST(coalesce(body, '') AS BLOB) AS body, CAST(records AS TEXT) AS records";
  const find = database.prepare(`SELECT ${own}, last, records_end ${newest}`);
  const findWhole = database.prepare(`SELECT ${own}, first, last, records_end, checksum, ${texts} ${newest}`);
  const chunks = database.prepare(`SELECT first, last, records_end, checksum, ${texts}
    FROM chunk WHERE rid = ? AND last >= ? AND last <= ? AND (last > ? OR records_end > ?) ORDER BY last, seq`);
  const snapshots = database.prepare(
    "SELECT head, records, checksum, CAST(data AS TEXT) AS data FROM snapshot WHERE rid = ?",
  );
  const bases = database.prepare(
    "SELECT head, records, checksum, CAST(data AS TEXT) AS data FROM base WHERE rid = ? AND head > ?",
  );
  const used = database.prepare(`SELECT page_size * (page_count - freelist_count) AS bytes
    FROM pragma_page_size, pragma_page_count, pragma_freelist_count`);
  // The lengths are stored before the texts, so the texts need not be read.
  const sum = `SELECT coalesce(sum(octet_length(body) + coalesce(octet_length(records), 0)), 0) AS bytes
    FROM chunk JOIN run ON run.rid = chunk.rid`;
  const leaving = database.prepare(`${sum} WHERE removed = 1`);
  const ofRun = database.prepare(`${sum} WHERE run_id = ? AND removed = 0`);
  const begin = database.prepare("BEGIN");
  const end = database.prepare("COMMIT");

  function pageOf(run: ReadRun, options: ReadOptions): Page {
    const { rid, head } = run;
    const { after, records = false, afterRecord = 0 } = options;
    const base = toWhole(rid, bases.get(rid, after));
    if (base) return { ...pageOf(run, { ...options, after: base.head }), base };
    const wanted = records
      ? ([after, head, after, afterRecord] as const)
      : ([after + 1, head, after, Number.MAX_SAFE_INTEGER] as const);
    return collect(run, chunks.iterate(rid, ...wanted), options);
  }

  /** Runs several queries in one read transaction, so that commits in between do not matter. */
  function atOnce<Answer>(ask: () => Answer): Answer {
    begin.run();
    try {
      return ask();
    } finally {
      end.run();
    }
  }

  function page(runId: RunId, options: ReadOptions): Page {
    return atOnce(() => {
      const row = find.get(runId) as RunRow | undefined;
      const run = row && toStored(runId, row);
      return run === undefined || run.removed ? NO_PAGE : pageOf(run, options);
    });
  }

  return {
    checked(runId) {
      const row = findWhole.get(runId) as (RunRow & ChunkRow) | undefined;
      const run = row && toStored(runId, row);
      if (row !== undefined && run !== undefined && !run.removed && row.last !== null) {
        checkWhole(run.rid, row);
        // A chunk with records only names the newest event but does not prove that it exists.
        if (row.last < row.first && run.head > 0) pageOf(run, { after: run.head - 1 });
      }
      return run;
    },
    page,
    pageOf,
    size(runId) {
      if (runId !== undefined) return Number(ofRun.get(runId)?.["bytes"]);
      return atOnce(() => Math.max(Number(used.get()?.["bytes"]) - Number(leaving.get()?.["bytes"]), 0));
    },
    snapshot: (rid) => toWhole(rid, snapshots.get(rid)),
  };
}

/** A snapshot or a base, if it is as it was written. */
function toWhole(rid: number, row: object | undefined): Base | undefined {
  if (row === undefined) return undefined;
  const { head, records, checksum, data } = row as DataRow;
  const position = { rid, first: head, last: head, records };
  if (toChecksum(position, new Uint8Array(), data) !== checksum) throw damaged();
  return { head, records, data: JSON.parse(data) as Json };
}

interface DataRow {
  readonly head: number;
  readonly records: number;
  readonly checksum: number;
  readonly data: string;
}

interface RunRow {
  readonly rid: number;
  readonly name: string;
  readonly removed: number;
  /** The id of the newest event when the row was written. */
  readonly head: number;
  /** The last event id of the newest chunk; `null` for a run without chunks. */
  readonly last: number | null;
  readonly records_end: number | null;
}

function toStored(runId: RunId, { rid, name, removed, head, last, records_end }: RunRow): StoredRun {
  if (name !== runId) throw damaged();
  if (removed > 0) return { runId, rid, removed: true, head: 0, records: 0 };
  // The run has chunks, even if their index lacks the newest one.
  if ((last ?? 0) < head) throw damaged();
  return { runId, rid, removed: false, head: last ?? 0, records: records_end ?? 0 };
}

const NO_PAGE: Page = { events: [], records: [], head: 0 };

interface ChunkRow extends LogChunk {
  readonly checksum: number;
  readonly body: Uint8Array;
}

/** Builds a page from its chunks. */
function collect({ runId, rid, head }: ReadRun, rows: Iterable<unknown>, options: ReadOptions): Page {
  const page = new PageBuilder<ChunkRow>(head, options, {
    verify: (chunk) => checkWhole(rid, chunk),
    eventsOf: (chunk) => eventsIn(runId, chunk),
  });
  for (const row of rows) if (!page.add(row as ChunkRow)) break;
  return page.finish();
}

function eventsIn(runId: RunId, { first, body }: ChunkRow): LoggedEvents {
  return parseBody(Buffer.from(body.buffer, body.byteOffset, body.length).toString(), { runId, first });
}

function checkWhole(rid: number, { first, last, records_end, checksum, body, records }: ChunkRow): void {
  const position = { rid, first, last, records: records_end };
  if (toChecksum(position, body, records) !== checksum) throw damaged();
}
