import type { DatabaseSync, StatementSync } from "node:sqlite";
import { toChecksum } from "../format/chain.ts";

/** The small appends of a commit. */
export interface RecentParts {
  /**
   * As JSON, five numbers for each append: the four of `Part` and the bytes of its body without the line break after it.
   * Empty if there are none.
   */
  readonly parts: string;
  /** The bytes of all bodies. */
  readonly bytes: number;
}

/** The small appends of a commit as its row has them; all are `null` without any. */
export type RecentColumns = readonly [checksum: number | null, parts: string | null, body: Uint8Array | null];

/** An append that has only events. */
interface Part {
  readonly rid: number;
  readonly first: number;
  readonly last: number;
  /** The number of records of the run. */
  readonly recordsEnd: number;
}

/** Events of one run that are to become one chunk. */
export interface PendingChunk extends Part {
  /** The events, with a line break after each. */
  readonly body: Buffer;
}

/**
 * The newest events of all runs. The row of a commit has its small appends, because a row with an index entry for each append
 * costs more than the events. Later the events of a run become one chunk, and rows whose events are all in chunks lose them.
 */
export class RecentEvents {
  readonly #select: StatementSync;
  readonly #empty: StatementSync;
  readonly #newestChunk: StatementSync;
  /** The runs with events that are not in a chunk, in the order of their oldest rows. */
  readonly #runs = new Map<number, Waiting>();
  /** The newest row with events: its batch and its checksum. */
  #row: { readonly batch: number; readonly checksum: number };
  /** Rows before this one have no events any more. */
  #start: number;
  /** The end of the newest row's body. */
  #end = 0;
  /** The bodies of all rows with events that are not in a chunk. */
  readonly #bodies = new ByteQueue();

  constructor(database: DatabaseSync) {
    const isOld = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'recent'").get() !== undefined;
    // As for chunks, a value whose type was changed becomes a text with a wrong checksum.
    const columns = `checksum, CAST(parts AS TEXT) AS parts, CAST(coalesce(body, '') AS BLOB) AS body`;
    this.#select = database.prepare(
      isOld
        ? `SELECT seq AS batch, ${columns} FROM recent WHERE seq BETWEEN ? AND ? ORDER BY seq`
        : `SELECT n AS batch, ${columns}, coalesce(checksum, parts, body) IS NULL AS isEmpty
          FROM batch WHERE n BETWEEN ? AND ? ORDER BY n`,
    );
    this.#empty = database.prepare(
      `UPDATE batch SET checksum = NULL, parts = NULL, body = NULL
        WHERE n >= ? AND n < ? AND coalesce(checksum, parts, body) IS NOT NULL`,
    );
    this.#newestChunk = database.prepare(
      `SELECT removed, coalesce((SELECT max(last) FROM chunk WHERE chunk.rid = run.rid), 0) AS last
       FROM run WHERE rid = ?`,
    );
    // A killed process leaves rows that it had no time to empty.
    const newest = database
      .prepare(
        "SELECT max(n) AS batch FROM batch WHERE parts IS NOT NULL AND n > (SELECT max(n) FROM batch) - ?",
      )
      .get(LEFT);
    this.#row = { batch: Number(newest?.["batch"] ?? 0), checksum: 0 };
    this.#start = Math.max(this.#row.batch - LEFT, 1);
  }

  /** Whether there are rows with events. */
  get exist(): boolean {
    return this.#start <= this.#row.batch;
  }

  /** The rows that are needed, as the transaction stores it; `null` if all events are in chunks. */
  get range(): string | null {
    const [oldest] = this.#runs.values();
    return oldest === undefined ? null : `${oldest.row} ${this.#row.batch} ${this.#row.checksum}`;
  }

  /** Whether events are to become chunks, or rows to be emptied, when a batch is committed. */
  isDue(batch: number): boolean {
    const [oldest] = this.#runs.values();
    const isOld = oldest !== undefined && this.#isOld(oldest, batch);
    return isOld || (oldest?.row ?? batch) - this.#start >= TRIMMED;
  }

  /** Takes the small appends of a commit, with whose bodies the bytes begin. Returns what its row must have of them. */
  add({ parts, bytes }: RecentParts, bodies: Uint8Array, batch: number): RecentColumns {
    if (parts === "") return NO_COLUMNS;
    const body = bodies.subarray(0, bytes);
    const checksum = toRowChecksum(batch, body, parts);
    this.#row = { batch, checksum };
    this.#bodies.push(body);
    this.#keep(batch, JSON.parse(parts) as number[]);
    return [checksum, parts, body];
  }

  /** Takes the events of a run; they must become a chunk in the same transaction. */
  take(rid: number): PendingChunk | undefined {
    const waiting = this.#runs.get(rid);
    if (waiting === undefined) return undefined;
    this.#runs.delete(rid);
    return this.#toGathered(waiting);
  }

  /** Takes the events of the runs whose oldest row is too old when a batch is committed. */
  takeOld(batch: number): readonly PendingChunk[] {
    const old: PendingChunk[] = [];
    for (const waiting of this.#runs.values()) {
      if (!this.#isOld(waiting, batch)) break;
      old.push(this.#toGathered(waiting));
    }
    for (const { rid } of old) this.#runs.delete(rid);
    return old;
  }

  #isOld({ row, rowStart }: Waiting, batch: number): boolean {
    return batch - row >= ROWS || this.#end - rowStart >= BYTES;
  }

  /** Takes the events of all runs. */
  takeAll(): readonly PendingChunk[] {
    const all = [...this.#runs.values()].map((waiting) => this.#toGathered(waiting));
    this.#runs.clear();
    return all;
  }

  /** Empties the rows before a batch, which is about to be committed, whose events are not needed: at least so many at once. */
  trim(batch: number, least: number = TRIMMED): void {
    const [oldest] = this.#runs.values();
    const start = oldest?.row ?? batch;
    this.#bodies.dropBefore(oldest?.rowStart ?? this.#end);
    if (start - this.#start < least) return;
    this.#empty.run(this.#start, start);
    this.#start = start;
  }

  /**
   * Reads the rows of a range from the database: at the start, and after a transaction was rolled back. Returns whether
   * all of them are as they were written.
   */
  load(range: string | null): boolean {
    this.#runs.clear();
    this.#end = this.#bodies.end;
    this.#bodies.dropBefore(this.#end);
    if (range === null) return true;
    const [start = 0, end = 0, checksum = 0] = range.split(" ").map(Number);
    this.#row = { batch: end, checksum };
    this.#start = start;
    let next = start;
    for (const found of this.#select.iterate(start, end)) {
      const row = found as unknown as StoredRow;
      const isNewest = row.batch === end;
      if (row.batch !== next || (isNewest && row.checksum !== checksum)) break;
      // A commit between them can have no small appends.
      if (row.isEmpty !== 1 || isNewest) {
        if (toRowChecksum(row.batch, row.body, row.parts) !== row.checksum) break;
        if (!this.#keepStored(row)) break;
      }
      next += 1;
    }
    return next === end + 1;
  }

  /** Keeps the events of a stored row that are not in a chunk. Returns whether they follow those before them. */
  #keepStored({ batch, parts, body }: StoredRow): boolean {
    let follow = true;
    this.#bodies.push(body);
    this.#keep(batch, JSON.parse(parts) as number[], ({ rid, first, last }) => {
      const newest = this.#newestChunk.get(rid);
      if (newest?.["removed"] !== 0 || Number(newest["last"]) >= last) return false;
      const before = this.#runs.get(rid)?.last ?? Number(newest["last"]);
      if (first !== before + 1) follow = false;
      return follow;
    });
    return follow;
  }

  /** Keeps the appends of a row, whose body is the newest. */
  #keep(row: number, parts: readonly number[], isNeeded?: (part: Part) => boolean): void {
    const rowStart = this.#end;
    let start = rowStart;
    for (let index = 0; index < parts.length; index += 5) {
      const [rid = 0, first = 0, last = 0, recordsEnd = 0, bytes = 0] = parts.slice(index, index + 5);
      const end = start + bytes + 1;
      const waiting = this.#runs.get(rid);
      if (isNeeded !== undefined && !isNeeded({ rid, first, last, recordsEnd })) {
        // It is in a chunk, or its run was removed.
      } else if (waiting === undefined) {
        this.#runs.set(rid, { rid, first, last, recordsEnd, bodies: [start, end], row, rowStart });
      } else {
        waiting.last = last;
        waiting.bodies.push(start, end);
      }
      start = end;
    }
    this.#end = this.#bodies.end;
  }

  #toGathered({ rid, first, last, recordsEnd, bodies }: Waiting): PendingChunk {
    return { rid, first, last, recordsEnd, body: this.#bodies.join(bodies) };
  }
}

/** The events of a run that are not in a chunk. */
interface Waiting extends Part {
  last: number;
  /** The start and the end of each body. */
  readonly bodies: number[];
  /** The oldest row with its events, and the start of its body. */
  readonly row: number;
  readonly rowStart: number;
}

interface StoredRow {
  readonly batch: number;
  readonly checksum: number;
  readonly parts: string;
  readonly body: Uint8Array;
  readonly isEmpty?: number;
}

function toRowChecksum(batch: number, body: Uint8Array, parts: string): number {
  return toChecksum({ rid: 0, first: batch, last: batch, records: 0 }, body, parts);
}

export const NO_COLUMNS: RecentColumns = [null, null, null];

/** How many rows, and bytes of them, are written before the events of a run become a chunk. */
const ROWS = 1_024;
const BYTES = 4 * 1024 * 1024;

/** How many rows are emptied at once. */
const TRIMMED = 256;

/** All rows with events that a killed process has left are among so many of the newest. */
const LEFT = 2 * (ROWS + TRIMMED);

/**
 * Bytes in order of arrival, at positions that never change. All of them are in one buffer, because thousands of small
 * buffers are costly to collect.
 */
class ByteQueue {
  #buffer: Buffer = Buffer.allocUnsafeSlow(START_BYTES);
  /** The position of the first byte in the buffer. */
  #start = 0;
  /** The position of the oldest byte that is needed. */
  #needed = 0;
  #end = 0;

  /** The position after the newest byte. */
  get end(): number {
    return this.#end;
  }

  push(bytes: Uint8Array): void {
    if (this.#end - this.#start + bytes.length > this.#buffer.length) this.#makeRoom(bytes.length);
    this.#buffer.set(bytes, this.#end - this.#start);
    this.#end += bytes.length;
  }

  /** The bytes between two positions, valid until the next `push`. */
  read(start: number, end: number): Buffer {
    return this.#buffer.subarray(start - this.#start, end - this.#start);
  }

  /** Copies the bytes between several pairs of positions into one buffer. */
  join(pairs: readonly number[]): Buffer {
    let length = 0;
    for (let index = 0; index < pairs.length; index += 2)
      length += (pairs[index + 1] ?? 0) - (pairs[index] ?? 0);
    const joined = Buffer.allocUnsafe(length);
    let at = 0;
    for (let index = 0; index < pairs.length; index += 2) {
      const [start = 0, end = 0] = [pairs[index], pairs[index + 1]];
      at += this.#buffer.copy(joined, at, start - this.#start, end - this.#start);
    }
    return joined;
  }

  /** Allows the bytes before a position to be overwritten. */
  dropBefore(position: number): void {
    this.#needed = position;
  }

  #makeRoom(bytes: number): void {
    const kept = this.#buffer.subarray(this.#needed - this.#start, this.#end - this.#start);
    const needed = 2 * (kept.length + bytes);
    const buffer =
      needed <= this.#buffer.length
        ? this.#buffer
        : Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)));
    buffer.set(kept);
    this.#buffer = buffer;
    this.#start = this.#needed;
  }
}

const START_BYTES = 256 * 1024;
