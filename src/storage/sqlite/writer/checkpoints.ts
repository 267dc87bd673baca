import { statSync } from "node:fs";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { AppendItem } from "./message.ts";
import { PAGE_BYTES } from "./page-states.ts";
import type { PageMemory } from "./page-states.ts";

/** The start data of the mover thread. */
export interface MoverData {
  readonly path: string;
  /** An open file descriptor of the database. */
  readonly file: number;
  /** The states of the pages. */
  readonly pages: PageMemory;
  /** Memory that writer and mover share; the indexes are in `AT`. */
  readonly shared: Int32Array;
}

/** Indexes into the shared memory. */
export const AT = { state: 0, pages: 1 } as const;

/** The mover's state. The writer sets asked and ended, the mover sets moving and free. */
export const STATE = { free: 0, asked: 1, moving: 2, ended: 3 } as const;

/** The mover writes this instead of the number of pages when it has failed. */
export const FAILED = -1;

/**
 * Decides when pages of the write-ahead log are moved into the database, and by which thread. While the
 * writer commits, the mover thread moves the collected pages. It rarely gets all of them, so the log restarts
 * only when the writer moves the short rest. Without a mover, or after it has failed, the writer moves
 * everything.
 */
export class Checkpoints {
  readonly #data: MoverData;
  readonly #shared: Int32Array;
  #started = false;
  /** Pages written since the mover was last asked or the writer last moved all pages. */
  #pages: number;
  /** Whether the mover was asked and its result was not yet read. */
  #asked = false;

  constructor(data: Omit<MoverData, "shared">) {
    this.#shared = new Int32Array(new SharedArrayBuffer(8));
    this.#data = { ...data, shared: this.#shared };
    // Pages that a killed process left behind must be counted, or every restart would add more.
    const left = statSync(`${data.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    this.#pages = Math.floor(left / PAGE_BYTES);
  }

  /** Whether there is work even if nothing is written. */
  get waiting(): boolean {
    return this.#asked || this.#pages >= IDLE_PAGES;
  }

  /** Counts written pages. */
  count(pages: number): void {
    this.#pages += pages;
  }

  /** Starts the mover when it is due. Returns whether the writer must move the rest now. */
  look(idle: boolean): boolean {
    const due = this.#hasEnded(idle) || this.#isBehind();
    if (due) {
      this.#asked = false;
      this.#pages = 0;
    } else if (!this.#asked && this.#pages >= (idle ? IDLE_PAGES : MOVE_PAGES)) {
      this.#ask();
    }
    return due;
  }

  /** Has the mover do nothing, after its current work, until it is asked again: only one thread can move pages at a time. */
  settle(): void {
    if (!this.#change(STATE.asked, STATE.free)) this.#awaitMover();
    this.#asked = false;
  }

  /** Ends the mover after its current work. */
  end(): void {
    do this.#awaitMover();
    while (!this.#change(STATE.free, STATE.ended) && !this.#change(STATE.asked, STATE.ended));
  }

  /** Whether the mover has finished and the rest is worth moving. */
  #hasEnded(idle: boolean): boolean {
    if (!this.#asked || Atomics.load(this.#shared, AT.state) !== STATE.free) return false;
    this.#asked = false;
    const pages = Atomics.load(this.#shared, AT.pages);
    return idle || pages === FAILED || pages >= LONG_PAGES;
  }

  /** Whether the mover cannot keep up with the writer; waits for its current work. */
  #isBehind(): boolean {
    if (this.#pages < LIMIT_PAGES) return false;
    this.#awaitMover();
    return true;
  }

  #awaitMover(): void {
    Atomics.wait(this.#shared, AT.state, STATE.moving);
  }

  #ask(): void {
    this.#asked = true;
    this.#pages = 0;
    // If the mover is still busy with the previous request, that is sufficient.
    this.#change(STATE.free, STATE.asked);
    if (!this.#started) startMover(this.#data);
    this.#started = true;
  }

  #change(from: number, to: number): boolean {
    if (Atomics.compareExchange(this.#shared, AT.state, from, to) !== from) return false;
    Atomics.notify(this.#shared, AT.state);
    return true;
  }
}

/**
 * Estimates the pages of a commit, rather too many than too few: appends close to each other share pages that
 * are counted for each.
 */
export function countPages(items: readonly AppendItem[], recentBytes: number): number {
  // The bodies of small appends are written twice: now, and later as chunks.
  let pages = 3 + Math.ceil((2 * recentBytes) / PAGE_BYTES);
  for (const [, , , , bytes, records, changes] of items) {
    const texts = bytes + (records?.length ?? 0) + (changes?.snapshot?.length ?? 0);
    pages += Math.ceil(texts / PAGE_BYTES) + (changes === null ? 2 : 12);
  }
  return pages;
}

/** Pages worth moving: at a quarter of this, twice as many commits were slowed down (measured). */
const MOVE_PAGES = 8_192;

/** Pages worth moving when the writer is idle. */
const IDLE_PAGES = 1_024;

/** Length at which the write-ahead log is restarted. */
const LONG_PAGES = 8_192;

/** The writer moves pages itself above this number, if the mover is busy or has not started. */
const LIMIT_PAGES = 16_384;

function startMover(data: MoverData): void {
  // In the source tree the thread is TypeScript like this file; in the package both are JavaScript.
  const file = new URL(`./mover-thread${extname(import.meta.url)}`, import.meta.url);
  new Worker(file, { workerData: data, name: "log-mover" }).unref();
}
