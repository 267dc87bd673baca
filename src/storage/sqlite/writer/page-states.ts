import { closeSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";

/** What both threads share: where the write-ahead log was read to, and a byte for each page. */
export interface PageMemory {
  readonly position: SharedArrayBuffer;
  readonly states: SharedArrayBuffer;
}

/** The state of a page: it may have leftovers, it has none as a page in use, or as a free page, which is empty. */
export const PAGE = { unknown: 0, wiped: 1, empty: 2 } as const;

/** SQLite's default page size, which all databases of troupe have. */
export const PAGE_BYTES = 4_096;

/** The pages of the largest database of which states are kept, 128 GiB. */
export const MOST_PAGES: number = 2 ** 25;

/**
 * The state of each page of the database. A page that is moved from the write-ahead log is unknown again. So every thread that moves
 * pages calls `gather` before, and `moved` after, and the log may not begin anew in between.
 */
export class PageStates {
  readonly #path: string;
  readonly #memory: PageMemory;
  /** What the head of the write-ahead log says when it begins anew, and the number of its frames that were moved. */
  readonly #position: Uint32Array;
  readonly #states: Uint8Array;

  constructor(path: string, memory: PageMemory) {
    this.#path = path;
    this.#memory = memory;
    this.#position = new Uint32Array(memory.position);
    this.#states = new Uint8Array(memory.states);
  }

  get(page: number): number {
    return this.#states[page] ?? PAGE.unknown;
  }

  set(page: number, state: number): void {
    this.#grow(page);
    this.#states[page] = state;
  }

  /** The first unknown page from one on. */
  nextUnknown(from: number): number {
    const found = this.#states.indexOf(PAGE.unknown, from);
    return found === -1 ? Math.max(this.#states.length, from) : found;
  }

  /** Forgets the states of the pages that the write-ahead log has and that were not moved. */
  gather(): void {
    let file: number;
    try {
      file = openSync(`${this.#path}-wal`, "r");
    } catch {
      // Without one, there is nothing to move.
      return;
    }
    try {
      this.#read(file);
    } finally {
      closeSync(file);
    }
  }

  /** Notes how many frames of the write-ahead log were moved. */
  moved(frames: number): void {
    this.#position[AT.moved] = Math.max(frames, 0);
  }

  #read(file: number): void {
    const head = Buffer.alloc(LOG_HEAD_BYTES);
    if (readSync(file, head, 0, LOG_HEAD_BYTES, 0) < LOG_HEAD_BYTES) return;
    const [count, salt1, salt2] = [head.readUInt32BE(12), head.readUInt32BE(16), head.readUInt32BE(20)];
    this.#beginAnew(count, salt1, salt2);
    const slice = Buffer.allocUnsafe(SLICE_FRAMES * FRAME_BYTES);
    for (
      let start = LOG_HEAD_BYTES + (this.#position[AT.moved] ?? 0) * FRAME_BYTES;
      ;
      start += slice.length
    ) {
      const frames = Math.floor(readSync(file, slice, 0, slice.length, start) / FRAME_BYTES);
      for (let at = 0; at < frames * FRAME_BYTES; at += FRAME_BYTES) {
        // Frames of before the log began anew follow.
        if (slice.readUInt32BE(at + 8) !== salt1 || slice.readUInt32BE(at + 12) !== salt2) return;
        this.set(slice.readUInt32BE(at), PAGE.unknown);
      }
      if (frames < SLICE_FRAMES) return;
    }
  }

  /** Starts at the first frame if the log has begun anew; once more than was seen, and nothing is known of what it had meanwhile. */
  #beginAnew(count: number, salt1: number, salt2: number): void {
    const position = this.#position;
    if (position[AT.salt1] === salt1 && position[AT.salt2] === salt2) return;
    const isFirst = position[AT.salt1] === 0 && position[AT.salt2] === 0;
    if (!isFirst && count !== (position[AT.count] ?? 0) + 1) this.#states.fill(PAGE.unknown);
    position.set([count, salt1, salt2, 0]);
  }

  #grow(page: number): void {
    if (page < this.#states.length || page >= MOST_PAGES) return;
    this.#memory.states.grow(Math.min(Math.ceil((page + 1) / GROWTH) * GROWTH, MOST_PAGES));
  }
}

/** The states of the pages of a database, which only the process that has it open knows. */
interface OpenStates {
  readonly memory: PageMemory;
  readonly states: PageStates;
}

/** Takes the states that the process before has saved at its end, unless another one has written since; `batch` is the newest. */
export function openPageStates(path: string, batch: number): OpenStates {
  // The only transaction of a start raises the epoch.
  const saved = takeSaved(toPagesFile(path), batch - 1);
  const memory = createPageMemory(saved);
  return { memory, states: new PageStates(path, memory) };
}

/** Saves the states for the next process; `batch` is the newest transaction. */
export function savePageStates(path: string, { states }: PageMemory, batch: number): void {
  const head = Buffer.alloc(BATCH_BYTES);
  head.writeBigUInt64LE(BigInt(batch));
  writeFileSync(toPagesFile(path), Buffer.concat([head, new Uint8Array(states)]), { mode: 0o600 });
}

/** Memory for the states of pages, of none yet if there are no saved ones. */
export function createPageMemory(saved: Uint8Array = new Uint8Array()): PageMemory {
  const states = new SharedArrayBuffer(saved.length, { maxByteLength: MOST_PAGES });
  new Uint8Array(states).set(saved);
  return { position: new SharedArrayBuffer(16), states };
}

/** Reads and removes what a process has saved after a transaction: after the next one it is wrong. */
function takeSaved(file: string, batch: number): Uint8Array | undefined {
  try {
    const saved = readFileSync(file);
    const isNewest = saved.length >= BATCH_BYTES && saved.readBigUInt64LE() === BigInt(batch);
    return isNewest ? saved.subarray(BATCH_BYTES) : undefined;
  } catch {
    return undefined;
  } finally {
    rmSync(file, { force: true });
  }
}

/** The file with the states of the pages of a database that no process has open. */
export function toPagesFile(path: string): string {
  return `${path}-pages`;
}

const BATCH_BYTES = 8;

/** Indexes into the position. */
const AT = { count: 0, salt1: 1, salt2: 2, moved: 3 } as const;

// The format of the write-ahead log: https://sqlite.org/fileformat2.html#walformat
const LOG_HEAD_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;
const SLICE_FRAMES = 128;

/** Pages for which memory is added at a time. */
const GROWTH = 16_384;
