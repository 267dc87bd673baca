import type { Page } from "../../ports/event-log.ts";
import type { RunEntry, Snapshot } from "../../ports/log-entries.ts";
import type { Base } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { parseBody } from "../sql/body.ts";
import { PageBuilder } from "../sql/page-builder.ts";
import type { LogChunk } from "../sql/page-builder.ts";
import type { IndexQueries } from "../sql/queries.ts";
import type { SqlQuery } from "../sql/query.ts";
import type { Database } from "./connection/database.ts";

/** What a node knows of a run that it has claimed: while the claim holds, it reads up to the newest acknowledged event. */
export interface OwnState {
  readonly epoch: number;
  readonly head: number;
}

/** Asks for pages of runs. Those that are batched share a statement with others of the same turn of the event loop. */
export class PageReads {
  readonly #database: Database;
  #waiting: WaitingRead[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  ask(values: readonly (string | number)[], { batched = false }: ReadOptions): Promise<readonly AppendRow[]> {
    if (!batched)
      return this.#database.ask("SELECT * FROM troupe.read_2($1, $2, $3, $4, $5, $6, $7, $8, $9)", values);
    const { promise, ...done } = Promise.withResolvers<readonly AppendRow[]>();
    this.#waiting.push({ values, ...done });
    if (this.#waiting.length === 1) setImmediate(() => this.#askBatches());
    return promise;
  }

  #askBatches(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    while (waiting.length > 0) void this.#askBatch(waiting.splice(0, BATCH_READS));
  }

  /** Never rejects: each of the reads does. */
  async #askBatch(reads: readonly WaitingRead[]): Promise<void> {
    const columns = Array.from({ length: 9 }, (_, column) =>
      reads.map(({ values }) => String(values[column])),
    );
    try {
      const rows = await this.#database.ask<BatchedRow>(BATCH, columns);
      const byRead = Map.groupBy(rows, ({ read }) => read);
      for (const [index, { resolve }] of reads.entries()) resolve(byRead.get(index + 1) ?? []);
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** How many reads are one statement. */
const BATCH_READS = 64;

const BATCH = `SELECT asked.read, found.* FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS asked (run, head, n, after, epoch, own_head, after_record, max_bytes, max_events, read),
  LATERAL troupe.read_2(asked.run, asked.head, asked.n, asked.after, asked.epoch, asked.own_head, asked.after_record,
    asked.max_bytes, asked.max_events) WITH ORDINALITY AS found (head, n, count, records_end, body, records, place)
  ORDER BY asked.read, found.place`;

interface WaitingRead {
  readonly values: readonly (string | number)[];
  resolve(rows: readonly AppendRow[]): void;
  reject(error: unknown): void;
}

/** Asks for the rows of runs. Those that are asked for together, like those of a page, share a statement. */
export class RowReads {
  readonly #queries: IndexQueries;
  readonly #ask: <Answer>(query: SqlQuery<Answer>) => Promise<Answer>;
  readonly #waiting = new Map<RunId, PromiseWithResolvers<RunEntry | undefined>>();

  constructor(queries: IndexQueries, ask: <Answer>(query: SqlQuery<Answer>) => Promise<Answer>) {
    this.#queries = queries;
    this.#ask = ask;
  }

  ask(runId: RunId): Promise<RunEntry | undefined> {
    const known = this.#waiting.get(runId);
    if (known !== undefined) return known.promise;
    const asked = Promise.withResolvers<RunEntry | undefined>();
    this.#waiting.set(runId, asked);
    if (this.#waiting.size === 1) queueMicrotask(() => void this.#askAll());
    return asked.promise;
  }

  /** Never rejects: each of the reads does. */
  async #askAll(): Promise<void> {
    const asked = new Map(this.#waiting);
    this.#waiting.clear();
    try {
      for (const [runId, entry] of await this.#find([...asked.keys()])) asked.get(runId)?.resolve(entry);
      for (const { resolve } of asked.values()) resolve(undefined);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }

  async #find(runIds: readonly RunId[]): Promise<readonly (readonly [RunId, RunEntry | undefined])[]> {
    const [only] = runIds;
    if (only !== undefined && runIds.length === 1) return [[only, await this.#ask(this.#queries.run(only))]];
    return (await this.#ask(this.#queries.rows(runIds))).map((entry) => [entry.runId, entry]);
  }
}

/** Reads a page of a run. `onFenced` is called if the own claim of the run was replaced. */
export async function readPage(
  reads: PageReads,
  runId: RunId,
  options: ReadOptions,
  own?: OwnState,
  onFenced?: () => void,
): Promise<Page> {
  const { after, limit, limitBytes = Infinity, records = false, afterRecord = 0 } = options;
  const maxBytes = Math.min(limitBytes, SLICE_BYTES);
  // The state at the start: the run may move on between two slices.
  const { epoch = 0, head: upTo = 0 } = own ?? {};
  let page: PageBuilder<AppendChunk> | undefined;
  let before = 0;
  // The rows before the first event are needed for their records.
  let head = after;
  let n = -1;
  while (true) {
    const rows = await reads.ask(
      [
        runId,
        head,
        n,
        after,
        epoch,
        upTo,
        records ? afterRecord : Number.MAX_SAFE_INTEGER,
        maxBytes,
        limit ?? Number.MAX_SAFE_INTEGER,
      ],
      options,
    );
    const [run, ...appends] = rows;
    const newest = run?.head ?? 0;
    if (typeof run?.records === "string") {
      const base = toBase(run);
      const from = Math.max(after, base.head);
      return { ...(await readPage(reads, runId, { ...options, after: from }, own, onFenced)), base };
    }
    // The epoch is below zero while the shard of the run is moved.
    if (own !== undefined && run?.n !== epoch && run?.n !== -epoch) onFenced?.();
    // A run that is removed meanwhile is empty.
    if (newest === 0 && before > 0) return NO_PAGE;
    before = newest;
    page ??= new PageBuilder<AppendChunk>(newest, options, {
      verify() {},
      eventsOf: ({ body, first }) => (body === "" ? [] : parseBody(body, { runId, first })),
    });
    for (const row of appends) {
      if (row.head === null) continue;
      ({ head, n } = { head: row.head, n: row.n });
      if (!page.add(toChunk(row, row.head, newest))) return page.finish();
    }
    const isCut = appends.length > 0 && appends.at(-1)?.head === null;
    if (!isCut) return page.finish();
  }
}

/** The most bytes that are read at once. */
const SLICE_BYTES = 4 * 1024 * 1024;

const NO_PAGE: Page = { events: [], records: [], head: 0 };

interface AppendRow {
  readonly head: number | null;
  readonly n: number;
  readonly count: number;
  readonly records_end: number;
  readonly body: string;
  readonly records: string | null;
}

interface BatchedRow extends AppendRow {
  /** Which read of the statement it answers, from 1. */
  readonly read: number;
}

function toBase({ records_end: head, records, body }: AppendRow): Base {
  return { head, records: Number(records), data: JSON.parse(body) as Json };
}

interface AppendChunk extends LogChunk {
  readonly body: string;
}

/** What is behind the newest event that is asked for is left out. */
function toChunk(
  { count, records_end, body, records }: AppendRow,
  head: number,
  newest: number,
): AppendChunk {
  const first = head - count + 1;
  return { first, last: Math.min(head, newest), records_end, body, records };
}

/** The newest snapshot of a run. */
export async function readSnapshot(database: Database, runId: RunId): Promise<Snapshot | undefined> {
  const [row] = await database.ask<SnapshotColumns>(
    "SELECT snapshot, snapshot_head, snapshot_records FROM troupe.run WHERE id = $1",
    [runId],
  );
  return row && toRunSnapshot(row);
}

/** The columns of a run's snapshot. */
export interface SnapshotColumns {
  readonly snapshot: string | null;
  readonly snapshot_head: number | null;
  readonly snapshot_records: number | null;
}

export function toRunSnapshot(row: SnapshotColumns): Snapshot | undefined {
  const { snapshot, snapshot_head: head, snapshot_records: records } = row;
  if (snapshot === null || head === null || records === null) return undefined;
  return { head, records, data: JSON.parse(snapshot) as Json };
}

/** The bytes of the events and records of all runs, or of one. */
export async function readSize(database: Database, runId: RunId | undefined): Promise<number> {
  const [row] = await database.ask<{ bytes: number }>(
    `SELECT (
      (SELECT coalesce(sum(bytes), 0) FROM troupe.run WHERE $1::text IS NULL OR id = $1) +
      (SELECT coalesce(sum(octet_length(lines)), 0) FROM troupe.recent WHERE $1::text IS NULL OR run = $1)
    )::bigint AS bytes`,
    [runId ?? null],
  );
  return row?.bytes ?? 0;
}
