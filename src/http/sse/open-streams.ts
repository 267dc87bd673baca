import { AgentError } from "../../errors.ts";
import type { Stream, StreamTimes } from "./stream.ts";

/** How many streams there may be, and how long they last. */
export interface StreamOptions {
  /** At most so many at a time. Default 10,000. */
  readonly limit?: number;
  /** At most so many of one request or run. Default 256. */
  readonly limitEach?: number;
  /** How long a stream is quiet before it says that it is alive. Default 15 s. */
  readonly heartbeatMs?: number;
  /** How long a reader may take nothing before it is cut off. Default 30 s. */
  readonly stallMs?: number;
  /** How long a stream lasts, give or take a tenth, before its reader has to open it anew. Default 15 min. */
  readonly lifeMs?: number;
}

/** All open streams. One timer looks after all of them, so that an idle one costs next to nothing. */
export class OpenStreams {
  /** What is the same for all of them. */
  readonly times: StreamTimes;
  readonly #lifeMs: number;
  readonly #limit: number;
  readonly #limitEach: number;
  readonly #open = new Set<Place>();
  readonly #perId = new Map<string, number>();
  #taken = 0;
  #isClosed = false;
  #fresh: Place[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor({
    limit = 10_000,
    limitEach = 256,
    heartbeatMs = 15_000,
    stallMs = 30_000,
    lifeMs = 900_000,
  }: StreamOptions = {}) {
    this.#limit = limit;
    this.#limitEach = limitEach;
    this.times = { heartbeatMs, stallMs };
    this.#lifeMs = lifeMs;
  }

  /** How many there are. */
  get size(): number {
    return this.#taken;
  }

  /**
   * Takes a place among the streams of an id, or throws when there are too many; without an id only all
   * of them are counted. The place is given back with `leave`.
   */
  take(id: string | undefined): void {
    if (this.#isClosed) throw new AgentError("unavailable", "the server is stopping");
    if (this.#taken >= this.#limit) {
      throw new AgentError("unavailable", `the server has ${this.#limit} streams open`, { retryAfterS: 5 });
    }
    if (id !== undefined) {
      const count = this.#perId.get(id) ?? 0;
      if (count >= this.#limitEach) {
        throw new AgentError("overloaded", `${id} has ${this.#limitEach} streams open`, { retryAfterS: 5 });
      }
      this.#perId.set(id, count + 1);
    }
    this.#taken += 1;
  }

  /** Gives a place back. */
  leave(id: string | undefined): void {
    this.#taken -= 1;
    if (id === undefined) return;
    const count = this.#perId.get(id) ?? 0;
    if (count > 1) this.#perId.set(id, count - 1);
    else this.#perId.delete(id);
  }

  /** When a stream that starts now has to end; not all at once, or they would all come back at once. */
  endOfLife(): number {
    return performance.now() + this.#lifeMs * (0.9 + Math.random() * 0.2);
  }

  /** Looks after a stream from now on, until the answer is called. */
  add(stream: Stream): () => void {
    const place: Place = { stream };
    this.#open.add(place);
    this.#timer ??= this.#startTimer();
    if (this.#fresh.length === 0) setTimeout(() => this.#openFresh(), FRESH_MS).unref();
    this.#fresh.push(place);
    if (this.#isClosed) stream.leave();
    return () => this.#remove(place);
  }

  /** Asks all readers to come back later, also those to come. */
  close(): void {
    this.#isClosed = true;
    for (const { stream } of this.#open) stream?.leave();
  }

  #remove(place: Place): void {
    place.stream = undefined;
    this.#open.delete(place);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startTimer(): ReturnType<typeof setInterval> {
    const { heartbeatMs, stallMs } = this.times;
    const shortest = Math.min(heartbeatMs, stallMs, this.#lifeMs);
    const timer = setInterval(
      () => {
        const now = performance.now();
        for (const { stream } of this.#open) stream?.tick(now);
      },
      Math.min(TICK_MS, shortest / 4),
    );
    timer.unref();
    return timer;
  }

  // The head of an answer usually travels with its first event. Where no event comes soon it has to go alone.
  #openFresh(): void {
    const places = this.#fresh;
    this.#fresh = [];
    for (const { stream } of places) stream?.open();
  }
}

/**
 * Where a stream is kept, empty when it is over. A set that members come to and leave makes a new table
 * every now and then, and whoever was in the old one lives until the garbage of all the heap is collected:
 * that may be a place, but not a stream with its request and its connection.
 */
interface Place {
  stream: Stream | undefined;
}

const TICK_MS = 1_000;
const FRESH_MS = 20;
