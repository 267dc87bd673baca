import { AgentError } from "../../errors.ts";
import type { Access } from "../../ports/principal.ts";
import type { BackpressuredStream, StreamTimes } from "./backpressured-stream.ts";

/** Limits of streams. */
export interface StreamOptions {
  /** Maximum number of streams. Default 10,000. */
  readonly limit?: number;
  /** Maximum number of streams of one request or run. Default 256. */
  readonly limitEach?: number;
  /** Time without an event before a heartbeat. Default 15 s. */
  readonly heartbeatMs?: number;
  /** Time after which a reader that accepts nothing is disconnected. Default 30 s. */
  readonly stallMs?: number;
  /** Lifetime of a stream, plus or minus a tenth; then its reader must reconnect. Default 15 min. */
  readonly lifeMs?: number;
}

/** All open streams. One timer serves all of them, so an idle stream costs almost nothing. */
export class OpenStreams {
  readonly times: StreamTimes;
  readonly #lifeMs: number;
  readonly #limit: number;
  readonly #limitEach: number;
  readonly #open = new Set<StreamSlot>();
  readonly #perId = new Map<string, number>();
  #taken = 0;
  #isClosed = false;
  #fresh: StreamSlot[] = [];
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

  get size(): number {
    return this.#taken;
  }

  /**
   * Reserves a stream of an id, or throws if there are too many; without an id only the total counts. `leave`
   * releases it.
   */
  take(id: string | undefined): void {
    if (this.#isClosed) throw new AgentError("unavailable", "the server is stopping");
    if (this.#taken >= this.#limit) {
      throw new AgentError("unavailable", `the server has reached its limit of ${this.#limit} open streams`, {
        retryAfterS: 5,
      });
    }
    if (id !== undefined) {
      const count = this.#perId.get(id) ?? 0;
      if (count >= this.#limitEach) {
        throw new AgentError("overloaded", `${id} has reached its limit of ${this.#limitEach} open streams`, {
          retryAfterS: 5,
        });
      }
      this.#perId.set(id, count + 1);
    }
    this.#taken += 1;
  }

  /** Releases a reservation. */
  leave(id: string | undefined): void {
    this.#taken -= 1;
    if (id === undefined) return;
    const count = this.#perId.get(id) ?? 0;
    if (count > 1) this.#perId.set(id, count - 1);
    else this.#perId.delete(id);
  }

  /** The end of a stream that starts now; randomized, so that streams do not all reconnect at once. */
  endOfLife(): number {
    return performance.now() + this.#lifeMs * (0.9 + Math.random() * 0.2);
  }

  /** Supervises a stream until the returned function is called. It ends when the access of its reader ends. */
  add(stream: BackpressuredStream, access?: Access): () => void {
    const slot: StreamSlot = { stream, access, checkedAt: performance.now() };
    this.#open.add(slot);
    this.#timer ??= this.#startTimer();
    if (this.#fresh.length === 0) setTimeout(() => this.#openFresh(), FRESH_MS).unref();
    this.#fresh.push(slot);
    if (this.#isClosed) stream.leave();
    return () => this.#remove(slot);
  }

  /** Tells all current and future readers to reconnect later. */
  close(): void {
    this.#isClosed = true;
    for (const { stream } of this.#open) stream?.leave();
  }

  #remove(slot: StreamSlot): void {
    slot.stream = undefined;
    slot.access = undefined;
    this.#open.delete(slot);
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
        for (const slot of this.#open) {
          slot.stream?.tick(now);
          if (slot.access !== undefined) checkAccess(slot, slot.access, now);
        }
      },
      Math.min(TICK_MS, shortest / 4),
    );
    timer.unref();
    return timer;
  }

  // The headers usually go out with the first event. If none comes soon, they are sent alone.
  #openFresh(): void {
    const slots = this.#fresh;
    this.#fresh = [];
    for (const { stream } of slots) stream?.open();
  }
}

/**
 * A slot of a stream, empty when the stream is over. A set with frequent changes reallocates its table, and
 * objects in the old table live until the next full garbage collection. So the set contains small slots
 * instead of streams with their request and connection.
 */
interface StreamSlot {
  stream: BackpressuredStream | undefined;
  access: Access | undefined;
  /** When the access was checked, in milliseconds of `performance.now`. */
  checkedAt: number;
}

/** Ends a stream whose reader has no access any more. */
function checkAccess(slot: StreamSlot, access: Access, now: number): void {
  if (access.expiresAt !== undefined && Date.now() >= access.expiresAt) {
    slot.stream?.shut();
    return;
  }
  if (access.isValid === undefined || now - slot.checkedAt < ACCESS_MS) return;
  slot.checkedAt = now;
  void isValid(access).then((valid) => {
    if (!valid) slot.stream?.shut();
  });
}

/** A check that fails says nothing about the reader, who was checked when the stream began. */
async function isValid(access: Access): Promise<boolean> {
  try {
    return (await access.isValid?.()) !== false;
  } catch {
    return true;
  }
}

const ACCESS_MS = 2_000;

const TICK_MS = 1_000;
const FRESH_MS = 20;
