import type { ReadOptions } from "../../ports/log-queries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { countOf } from "./packed-texts.ts";
import type { KeptEvents, PackedTexts } from "./packed-texts.ts";
import { firstOf } from "./page-events.ts";

/**
 * The newest events of active runs, so that live readers need no database. It has a limit over all runs; the
 * oldest events are removed first.
 */
export class TailCache {
  readonly #limitBytes: number;
  readonly #runs = new Map<RunId, Tail>();
  /** The chunks of all tails in order of arrival; chunks of dropped tails are skipped. */
  #order = new Queue<{ readonly tail: Tail; readonly bytes: number }>();
  /** The number of chunks of dropped tails in the order. */
  #stale = 0;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Adds events that follow directly after the cached ones of a run. */
  add(runId: RunId, first: number, events: KeptEvents, bytes: number): void {
    let tail = this.#runs.get(runId);
    if (tail === undefined) {
      tail = { runId, chunks: new Queue(), bytes: 0 };
      this.#runs.set(runId, tail);
    }
    const count = events.reduce((sum, item) => sum + countOf(item), 0);
    const cost = bytes + CHUNK_BYTES + count * EVENT_BYTES;
    tail.chunks.push({ first, last: first + count - 1, events });
    tail.bytes += cost;
    this.#order.push({ tail, bytes: cost });
    this.#bytes += cost;
    while (this.#bytes > this.#limitBytes) this.#removeOldest();
  }

  /** Reads events; `undefined` if some of them are not cached. */
  read(runId: RunId, options: ReadOptions): LoggedEvents | undefined {
    const { after, limit, limitBytes } = options;
    const chunks = this.#runs.get(runId)?.chunks;
    const oldest = chunks?.at(0);
    const newest = chunks?.at(chunks.length - 1);
    if (chunks === undefined || oldest === undefined || newest === undefined) return undefined;
    if (after < oldest.first - 1 || after > newest.last) return undefined;

    const index = findAfter(chunks, after);
    const chunk = chunks.at(index);
    if (chunk === undefined) return [];
    const skip = after + 1 - chunk.first;
    return firstOf(chunk === newest ? chunk.events : gather(chunks, index, limit), {
      skip,
      limit,
      limitBytes,
    });
  }

  /** Removes a run from the cache. */
  drop(runId: RunId): void {
    const tail = this.#runs.get(runId);
    if (tail === undefined) return;
    this.#runs.delete(runId);
    this.#bytes -= tail.bytes;
    this.#stale += tail.chunks.length;
    tail.bytes = 0;
    tail.chunks = new Queue();
    // Only when more than half is stale, so that the amortized cost of a drop is constant.
    if (this.#stale > STALE_LIMIT && this.#stale * 2 > this.#order.length) this.#removeStale();
  }

  #removeStale(): void {
    const order = this.#order;
    this.#order = new Queue();
    this.#stale = 0;
    for (let entry = order.shift(); entry !== undefined; entry = order.shift()) {
      if (entry.tail.chunks.length > 0) this.#order.push(entry);
    }
  }

  #removeOldest(): void {
    const oldest = this.#order.shift();
    if (oldest === undefined) return;
    const { tail, bytes } = oldest;
    if (tail.chunks.shift() === undefined) {
      this.#stale -= 1;
      return;
    }
    tail.bytes -= bytes;
    this.#bytes -= bytes;
    if (tail.chunks.length === 0) this.#runs.delete(tail.runId);
  }
}

interface Tail {
  readonly runId: RunId;
  chunks: Queue<Chunk>;
  bytes: number;
}

interface Chunk {
  readonly first: number;
  readonly last: number;
  readonly events: KeptEvents;
}

/** The overhead of a chunk besides its events, and of an event besides its content. */
const CHUNK_BYTES = 256;
const EVENT_BYTES = 32;

/** The number of stale chunks that may always remain in the order. */
const STALE_LIMIT = 1_024;

/** The events of successive chunks: `limit` of them or more, behind those of the first chunk. */
function gather(chunks: Queue<Chunk>, from: number, limit = Infinity): KeptEvents {
  const events: (string | Texts | PackedTexts)[] = [];
  const { last = 0 } = chunks.at(from) ?? {};
  for (let index = from; index < chunks.length; index += 1) {
    const chunk = chunks.at(index);
    if (chunk === undefined || chunk.first > last + limit) break;
    for (const item of chunk.events) events.push(item);
  }
  return events;
}

/** The index of the first chunk that ends after an event. */
function findAfter(chunks: Queue<Chunk>, after: number): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunks.at(middle)?.last ?? 0) <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A FIFO queue with random access. */
class Queue<Item> {
  #items: (Item | undefined)[] = [];
  #start = 0;

  get length(): number {
    return this.#items.length - this.#start;
  }

  at(index: number): Item | undefined {
    return this.#items[this.#start + index];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.#start === this.#items.length) return undefined;
    const item = this.#items[this.#start];
    this.#items[this.#start] = undefined;
    this.#start += 1;
    // Compacts only when half is empty, so that the amortized cost of a shift is constant.
    if (this.#start > 32 && this.#start * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return item;
  }
}
