import type { AppendJob } from "./writer-client.ts";
import type { AppendItem } from "./message.ts";
import type { RecentParts } from "./recent-events.ts";

/**
 * Indexes into the memory by which the threads wake each other. `count` is incremented and notified with everything that is sent to
 * the writer, `replies` with each commit that is done and of which there is nothing else to tell. The writer sets `hasMessages` and
 * `hasCommit` to 0 when it takes them. The others are the bytes of the parts of the commit (`CommitMemory`).
 */
export const SIGNAL = {
  count: 0,
  replies: 1,
  hasMessages: 2,
  hasCommit: 3,
  smallBytes: 4,
  bodyBytes: 5,
  partBytes: 6,
  itemBytes: 7,
} as const;

export function newSignal(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * Object.keys(SIGNAL).length));
}

/** A commit as the writer gets it. */
export interface SharedCommit {
  readonly recent: RecentParts;
  readonly items: readonly AppendItem[];
}

/**
 * Memory that the writer's thread reads without a copy. It contains one commit: the bodies of its small appends with a line break
 * after each, those of the others, the parts of the small ones, and the others as JSON. It is reused for the next commit, and grows
 * to the size of the largest.
 */
export class CommitMemory {
  #buffer: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(START_BYTES));
  #length = 0;
  #isNew = true;

  /** Writes a commit of small appends and others. Returns the memory if the other thread does not have it yet. */
  write(
    small: readonly AppendJob[],
    others: readonly AppendJob[],
    signal: Int32Array,
  ): SharedArrayBuffer | undefined {
    this.#length = 0;
    const parts: number[] = [];
    for (const { rid, append } of small) {
      const [first, last, recordsEnd] = append.position;
      append.bytes = this.#append(append.body);
      this.#breakLine();
      parts.push(rid, first, last, recordsEnd, append.bytes);
    }
    const smallBytes = this.#length;
    const items = others.map(({ rid, append }): AppendItem => {
      const { position, body, records, changes } = append;
      append.bytes = this.#append(body);
      return [rid, ...position, append.bytes, records, changes];
    });
    const bodyBytes = this.#length;
    const partBytes = parts.length === 0 ? 0 : this.#append(JSON.stringify(parts));
    const itemBytes = items.length === 0 ? 0 : this.#append(JSON.stringify(items));
    Atomics.store(signal, SIGNAL.smallBytes, smallBytes);
    Atomics.store(signal, SIGNAL.bodyBytes, bodyBytes);
    Atomics.store(signal, SIGNAL.partBytes, partBytes);
    Atomics.store(signal, SIGNAL.itemBytes, itemBytes);
    if (!this.#isNew) return undefined;
    this.#isNew = false;
    return this.#buffer.buffer;
  }

  /** Appends a text. Returns its size in bytes. */
  #append(text: string): number {
    if (text.length === 0) return 0;
    // A UTF-16 code unit takes at most three bytes.
    if (this.#length + 3 * text.length > this.#buffer.length) this.#reserve(Buffer.byteLength(text));
    const bytes = this.#buffer.write(text, this.#length);
    this.#length += bytes;
    return bytes;
  }

  #breakLine(): void {
    this.#reserve(1);
    this.#buffer[this.#length] = LINE_BREAK;
    this.#length += 1;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.from(new SharedArrayBuffer(2 ** Math.ceil(Math.log2(needed))));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#isNew = true;
  }
}

/** Reads the commit in the memory. */
export function readCommit(memory: Buffer, signal: Int32Array): SharedCommit {
  const bytes = Atomics.load(signal, SIGNAL.smallBytes);
  const partStart = Atomics.load(signal, SIGNAL.bodyBytes);
  const itemStart = partStart + Atomics.load(signal, SIGNAL.partBytes);
  const itemEnd = itemStart + Atomics.load(signal, SIGNAL.itemBytes);
  return {
    recent: { parts: memory.toString("latin1", partStart, itemStart), bytes },
    items:
      itemEnd === itemStart
        ? NO_ITEMS
        : (JSON.parse(memory.toString("utf8", itemStart, itemEnd)) as readonly AppendItem[]),
  };
}

const NO_ITEMS: readonly AppendItem[] = [];

const LINE_BREAK = 10;

const START_BYTES = 1024 * 1024;
