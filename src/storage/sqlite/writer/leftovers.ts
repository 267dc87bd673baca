import { fdatasyncSync, fstatSync, readSync, writeSync } from "node:fs";
import { DamagedLog } from "../format/errors.ts";
import { MOST_PAGES, PAGE, PAGE_BYTES } from "./page-states.ts";
import type { PageStates } from "./page-states.ts";

/**
 * Overwrites in the database file what deleted and moved rows have left in bytes that no row uses. `secure_delete` does not: when
 * SQLite moves rows to another page, it leaves them in the page that they come from. `VACUUM` writes everything anew, also what has
 * nothing left. Only unknown pages are read here. The bytes that change mean nothing to a reader, and no thread may move pages
 * meanwhile.
 */
export class Leftovers {
  readonly #file: number;
  readonly #states: PageStates;
  readonly #slice = Buffer.allocUnsafe(SLICE_PAGES * PAGE_BYTES);
  readonly #pointer = Buffer.alloc(4);

  /** `file` is a file descriptor of the database. */
  constructor(file: number, states: PageStates) {
    this.#file = file;
    this.#states = states;
  }

  /** Notes which pages are about to be moved from the write-ahead log. */
  gather(): void {
    this.#states.gather();
  }

  /** Notes how many frames of it were moved. */
  moved(frames: number): void {
    this.#states.moved(frames);
  }

  /**
   * Wipes all unknown pages, and syncs the file. The whole write-ahead log must have been moved: after a part of it, the pages of the
   * file are not of one moment, and a page that is free in its list can be in use. Throws if a page is damaged.
   */
  wipeAll(): void {
    const count = this.#countPages();
    const free = this.#readFree(count);
    for (let first = this.#states.nextUnknown(FIRST_PAGE); first <= count;) {
      let last = first;
      while (last < count && last - first + 1 < SLICE_PAGES && this.#states.get(last + 1) === PAGE.unknown)
        last += 1;
      this.#wipeSlice(first, last - first + 1, free);
      first = this.#states.nextUnknown(last + 1);
    }
    this.#wipeFree(free);
    fdatasyncSync(this.#file);
  }

  #wipeSlice(first: number, count: number, free: FreePages): void {
    const slice = this.#slice;
    this.#readAt(slice.subarray(0, count * PAGE_BYTES), first);
    for (let index = 0; index < count; index += 1) {
      const number = first + index;
      if (free.has(number)) continue;
      const page = slice.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES);
      const wiped = isTree(number, page) ? this.#wipeTree(number, page) : undefined;
      if (wiped)
        writeSync(this.#file, page, wiped.start, wiped.end - wiped.start, toOffset(number) + wiped.start);
      this.#states.set(number, PAGE.wiped);
    }
  }

  /** Zeros what the rows of a page do not use, and the ends of their last overflow pages. Returns the range that has changed. */
  #wipeTree(number: number, page: Buffer): Range | undefined {
    const head = number === FIRST_PAGE ? FILE_HEAD_BYTES : 0;
    const type = page[head];
    const cells = page.readUInt16BE(head + 3);
    const content = page.readUInt16BE(head + 5) || 65_536;
    const pointers = head + (type === LEAF_OF_TABLE || type === LEAF_OF_INDEX ? 8 : 12);
    const gap = pointers + 2 * cells;
    if (gap > content || content > PAGE_BYTES) throw damaged(number);
    let range = zero(page, gap, content);
    for (let block = page.readUInt16BE(head + 1); block !== 0;) {
      const [next, bytes] = [page.readUInt16BE(block), page.readUInt16BE(block + 2)];
      const end = block + bytes;
      if (block < content || bytes < 4 || end > PAGE_BYTES || (next !== 0 && next < end))
        throw damaged(number);
      range = join(range, zero(page, block + 4, end));
      block = next;
    }
    if (type !== INNER_OF_TABLE)
      for (let index = 0; index < cells; index += 1)
        this.#wipeOverflow(page, page.readUInt16BE(pointers + 2 * index), type);
    return range;
  }

  /** Zeros the end of the last overflow page of a cell, if it has one. */
  #wipeOverflow(page: Buffer, cell: number, type: number | undefined): void {
    const [bytes, after] = readVarint(page, cell + (type === INNER_OF_INDEX ? 4 : 0));
    const most = type === LEAF_OF_TABLE ? MOST_IN_TABLE : MOST_IN_INDEX;
    if (bytes <= most) return;
    const start = type === LEAF_OF_TABLE ? readVarint(page, after)[1] : after;
    const surplus = LEAST_IN_PAGE + ((bytes - LEAST_IN_PAGE) % OVERFLOW_BYTES);
    const local = surplus <= most ? surplus : LEAST_IN_PAGE;
    let number = page.readUInt32BE(start + local);
    const count = Math.ceil((bytes - local) / OVERFLOW_BYTES);
    for (let index = 1; index < count; index += 1) {
      this.#readAt(this.#pointer, number);
      number = this.#pointer.readUInt32BE();
    }
    const used = 4 + bytes - local - (count - 1) * OVERFLOW_BYTES;
    this.#wipeAt(number, used);
  }

  /** Empties the free pages that are not empty. */
  #wipeFree({ trunks, leaves }: FreePages): void {
    for (const [number, used] of trunks) {
      this.#wipeAt(number, used);
      this.#states.set(number, PAGE.wiped);
    }
    for (const number of leaves) {
      if (this.#states.get(number) === PAGE.empty) continue;
      this.#wipeAt(number, 0);
      this.#states.set(number, PAGE.empty);
    }
  }

  /** Zeros the end of a page from a byte on. */
  #wipeAt(number: number, from: number): void {
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    this.#readAt(page, number);
    if (zero(page, from, PAGE_BYTES))
      writeSync(this.#file, page, from, PAGE_BYTES - from, toOffset(number) + from);
  }

  /** Reads the list of free pages: trunks, which name others, and leaves. */
  #readFree(count: number): FreePages {
    const free = new FreePages();
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    this.#readAt(page, FIRST_PAGE);
    if (page.readUInt16BE(16) !== PAGE_BYTES || page[20] !== 0 || count >= MOST_PAGES)
      throw new Error("only databases of pages of 4 KiB, and up to 128 GiB, can be scrubbed");
    for (let trunk = page.readUInt32BE(32); trunk !== 0; trunk = page.readUInt32BE(0)) {
      if (trunk > count || free.trunks.has(trunk)) throw damaged(trunk);
      this.#readAt(page, trunk);
      const leaves = page.readUInt32BE(4);
      if (leaves > PAGE_BYTES / 4 - 2) throw damaged(trunk);
      free.trunks.set(trunk, 8 + 4 * leaves);
      for (let index = 0; index < leaves; index += 1) free.leaves.add(page.readUInt32BE(8 + 4 * index));
    }
    return free;
  }

  /** Reads the start of pages. */
  #readAt(into: Buffer, number: number): void {
    if (readSync(this.#file, into, 0, into.length, toOffset(number)) !== into.length) throw damaged(number);
  }

  #countPages(): number {
    return Math.floor(fstatSync(this.#file).size / PAGE_BYTES);
  }
}

/** The pages that are in no table. */
class FreePages {
  /** The bytes that each of these uses. */
  readonly trunks = new Map<number, number>();
  readonly leaves = new Set<number>();

  has(number: number): boolean {
    return this.leaves.has(number) || this.trunks.has(number);
  }
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Overwrites bytes of a page with zeros; returns those that were not. */
function zero(page: Buffer, start: number, end: number): Range | undefined {
  if (page.compare(ZEROS, 0, end - start, start, end) === 0) return undefined;
  page.fill(0, start, end);
  return { start, end };
}

function join(one: Range | undefined, other: Range | undefined): Range | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { start: Math.min(one.start, other.start), end: Math.max(one.end, other.end) };
}

/**
 * Whether a page in use has rows. Otherwise it is an overflow page, which begins with the number of the next: too small for its first
 * byte to be one of these.
 */
function isTree(number: number, page: Buffer): boolean {
  const type = page[number === FIRST_PAGE ? FILE_HEAD_BYTES : 0];
  return (
    type === LEAF_OF_TABLE || type === LEAF_OF_INDEX || type === INNER_OF_TABLE || type === INNER_OF_INDEX
  );
}

/** Reads a number of 1 to 9 bytes; returns it with the place after it. */
function readVarint(page: Buffer, at: number): readonly [value: number, after: number] {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = page[at + index] ?? 0;
    value = value * 128 + (byte & 127);
    if (byte < 128) return [value, at + index + 1];
  }
  return [value * 256 + (page[at + 8] ?? 0), at + 9];
}

function toOffset(number: number): number {
  return (number - 1) * PAGE_BYTES;
}

function damaged(number: number): Error {
  return new DamagedLog(`page ${number} of the database is damaged`);
}

/** Pages that are read at a time. */
const SLICE_PAGES = 256;

// The format of the database: https://sqlite.org/fileformat2.html
const FIRST_PAGE = 1;
const FILE_HEAD_BYTES = 100;
const INNER_OF_INDEX = 2;
const INNER_OF_TABLE = 5;
const LEAF_OF_INDEX = 10;
const LEAF_OF_TABLE = 13;
const OVERFLOW_BYTES = PAGE_BYTES - 4;
/** The bytes of a row that are in its page at most and at least, if the rest is in overflow pages. */
const MOST_IN_TABLE = PAGE_BYTES - 35;
const MOST_IN_INDEX = Math.floor(((PAGE_BYTES - 12) * 64) / 255) - 23;
const LEAST_IN_PAGE = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;

const ZEROS = Buffer.alloc(PAGE_BYTES);
