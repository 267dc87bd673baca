import { statSync } from "node:fs";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Item } from "./message.ts";

/** What the thread that moves pages is started with. */
export interface MoverData {
  readonly path: string;
  /** An open descriptor of the database. */
  readonly file: number;
  /** What both threads know, at the places of `AT`. */
  readonly shared: Int32Array;
}

/** Where things stand in what the writer and the mover share. */
export const AT = { state: 0, pages: 1 } as const;

/** What the mover does: asked and ended come from the writer, moving and free from the mover. */
export const STATE = { free: 0, asked: 1, moving: 2, ended: 3 } as const;

/** Said in the place of pages by a mover that has failed. */
export const FAILED = -1;

/**
 * Decides when pages of the write-ahead log are moved into the database, and by whom. While the writer commits,
 * a thread of its own, the mover, moves what has gathered; it hardly ever gets all of it, so that the log begins
 * anew only when the writer moves the short rest. Without a mover, or after it has failed, the rest is everything.
 */
export class Checkpoints {
  readonly #data: MoverData;
  readonly #shared: Int32Array;
  #started = false;
  /** Pages written since the mover was asked, or the writer moved all. */
  #pages: number;
  /** Whether the mover was asked and nobody has looked at what came of it. */
  #asked = false;

  constructor(data: Omit<MoverData, "shared">) {
    this.#shared = new Int32Array(new SharedArrayBuffer(8));
    this.#data = { ...data, shared: this.#shared };
    // A process that was killed leaves its pages behind: if nobody counted them, every next one would add to them.
    const left = statSync(`${data.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    this.#pages = Math.floor(left / PAGE_BYTES);
  }

  /** Whether there is something to look at even if nothing is written. */
  get waiting(): boolean {
    return this.#asked || this.#pages >= IDLE_PAGES;
  }

  /** Counts what was written. */
  count(pages: number): void {
    this.#pages += pages;
  }

  /** Has pages moved when that is due; answers whether the writer is to move the rest now. */
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

  /** Ends the mover; what it is at comes to its end first. */
  end(): void {
    do this.#awaitMover();
    while (!this.#change(STATE.free, STATE.ended) && !this.#change(STATE.asked, STATE.ended));
  }

  /** Whether the mover has done what it was asked for, and the rest is worth moving. */
  #hasEnded(idle: boolean): boolean {
    if (!this.#asked || Atomics.load(this.#shared, AT.state) !== STATE.free) return false;
    this.#asked = false;
    const pages = Atomics.load(this.#shared, AT.pages);
    return idle || pages === FAILED || pages >= LONG_PAGES;
  }

  /** Whether more is written than the mover can move; what it is at comes to its end first. */
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
    // If it is still at what it was asked for before, that will do.
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

/** How many pages a commit writes, rather too many than too few: appends to one place share what is counted for each. */
export function countPages(items: readonly Item[]): number {
  let pages = 1;
  for (const [, , , , bytes, records, changes] of items) {
    const texts = bytes + (records?.length ?? 0) + (changes?.snapshot?.length ?? 0);
    pages += Math.ceil(texts / PAGE_BYTES) + (changes === null ? 2 : 12);
  }
  return pages;
}

const PAGE_BYTES = 4_096;

/** So many pages are worth moving: with a quarter of it, measured, twice as many commits are slowed down meanwhile. */
const MOVE_PAGES = 8_192;

/** So many are when nothing else is to be done. */
const IDLE_PAGES = 1_024;

/** The write-ahead log begins anew beyond so many pages. */
const LONG_PAGES = 8_192;

/** So many pages are written while the mover is busy, or has not started, until the writer does the work. */
const LIMIT_PAGES = 16_384;

function startMover(data: MoverData): void {
  // In the source tree the thread is TypeScript like this file, in the package both are JavaScript.
  const file = new URL(`./mover-thread${extname(import.meta.url)}`, import.meta.url);
  new Worker(file, { workerData: data, name: "log-mover" }).unref();
}
