import type { Environment } from "../../ports/environment.ts";
import type { QueueOptions, RateOptions } from "../../ports/model.ts";
import type { RunId } from "../../protocol/ids.ts";

/** Gives a waiting call its slot. */
type Grant = () => void;

/** Whose call waits for a slot. */
export interface SlotUser {
  readonly owner: string;
  readonly runId: RunId;
}

/** How many calls have a slot, and how many wait for one. */
export interface SlotLoad {
  taken: number;
  waiting: number;
}

/**
 * The queue of one tool or model in a process: at most `concurrency` calls have a slot at once, and each takes a token of
 * the rate when it starts. The owners with waiting calls get slots in turn, and so do the runs of each of them: who has many
 * runs does not hold back the others.
 */
export class SlotQueue {
  readonly #environment: Environment;
  readonly #concurrency: number;
  readonly #bucket: TokenBucket | undefined;
  /** The waiting calls of each owner by run, oldest first; the owner that is next is the first, and so is its run. */
  readonly #waiting = new Map<string, Map<RunId, Set<Grant>>>();
  #size = 0;
  #taken = 0;
  /** That of all queues of a process. */
  readonly #load: SlotLoad;
  /** Waits for the next token while a slot is free. */
  #stopTimer: (() => void) | undefined;

  constructor(
    environment: Environment,
    { concurrency = Infinity, rate }: QueueOptions,
    load: SlotLoad = { taken: 0, waiting: 0 },
  ) {
    this.#load = load;
    this.#environment = environment;
    this.#concurrency = concurrency;
    this.#bucket = rate && new TokenBucket(rate, environment.monotonic());
  }

  /** The number of waiting calls. */
  get size(): number {
    return this.#size;
  }

  /** Takes a slot if one is free and no call waits for it. */
  take(): boolean {
    if (this.#size > 0 || !this.#isReady) return false;
    this.#start();
    return true;
  }

  /** Takes a slot above the limit, for a call that has begun before and must continue. */
  retake(): void {
    this.#taken += 1;
    this.#load.taken += 1;
  }

  /** Waits for a slot. Returns a function that leaves the queue; it does nothing once the slot is given. */
  wait(of: SlotUser, grant: Grant): () => void {
    const { owner, runId } = of;
    const runs = this.#waiting.get(owner) ?? new Map<RunId, Set<Grant>>();
    const ofRun = runs.get(runId) ?? new Set();
    this.#waiting.set(owner, runs.set(runId, ofRun.add(grant)));
    this.#size += 1;
    this.#load.waiting += 1;
    this.#serve();
    return () => {
      if (this.#remove(of, grant)) this.#serve();
    };
  }

  /** Returns a slot. */
  release(): void {
    this.#taken -= 1;
    this.#load.taken -= 1;
    this.#serve();
  }

  get #isReady(): boolean {
    return (
      this.#taken < this.#concurrency && (this.#bucket?.missingMs(this.#environment.monotonic()) ?? 0) === 0
    );
  }

  #start(): void {
    this.#taken += 1;
    this.#load.taken += 1;
    this.#bucket?.take();
  }

  /** Gives free slots to waiting calls. */
  #serve(): void {
    while (this.#isReady) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [owner, runs] = next;
      const [first] = runs;
      if (first === undefined) break;
      const [runId, ofRun] = first;
      const [grant] = ofRun;
      if (grant === undefined) break;
      this.#remove({ owner, runId }, grant);
      // The others come first, then this one again.
      if (runs.delete(runId)) runs.set(runId, ofRun);
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, runs);
      this.#start();
      grant();
    }
    this.#watch();
  }

  #remove({ owner, runId }: SlotUser, grant: Grant): boolean {
    const runs = this.#waiting.get(owner);
    const ofRun = runs?.get(runId);
    if (ofRun?.delete(grant) !== true) return false;
    if (ofRun.size === 0) runs?.delete(runId);
    if (runs?.size === 0) this.#waiting.delete(owner);
    this.#size -= 1;
    this.#load.waiting -= 1;
    return true;
  }

  /** Starts the timer for the next token if a call waits for one, or stops it. */
  #watch(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#size === 0 || this.#taken >= this.#concurrency || this.#bucket === undefined) return;
    const ms = this.#bucket.missingMs(this.#environment.monotonic());
    this.#stopTimer = this.#environment.timer(ms, () => {
      this.#stopTimer = undefined;
      this.#serve();
    });
  }
}

/** The queues of a runtime: one for each definition of a tool or a model that limits its calls. */
export class SlotQueues {
  readonly #environment: Environment;
  readonly #queues = new WeakMap<object, SlotQueue>();
  readonly load: SlotLoad = { taken: 0, waiting: 0 };

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The queue of a definition; `undefined` if its calls start at once. */
  of(definition: QueueOptions): SlotQueue | undefined {
    if (definition.concurrency === undefined && definition.rate === undefined) return undefined;
    const known = this.#queues.get(definition);
    if (known) return known;
    const queue = new SlotQueue(this.#environment, definition, this.load);
    this.#queues.set(definition, queue);
    return queue;
  }
}

/** The slot of a call. */
export class HeldSlot {
  readonly #queue: SlotQueue;
  #waits = 0;
  #isReleased = false;

  constructor(queue: SlotQueue) {
    this.#queue = queue;
  }

  /** Frees the slot while the call waits for something from outside. */
  pause(): void {
    this.#waits += 1;
    if (this.#waits === 1 && !this.#isReleased) this.#queue.release();
  }

  /**
   * Takes the slot again without waiting, even if that is one more than the limit allows, because the order of what the
   * call waited for is in the log.
   */
  resume(): void {
    this.#waits -= 1;
    if (this.#waits === 0 && !this.#isReleased) this.#queue.retake();
  }

  /** The call has ended. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (this.#waits === 0) this.#queue.release();
  }
}

/**
 * Tokens that come back at a rate. It starts with one token only, because it does not know what an earlier process has
 * started just before.
 */
class TokenBucket {
  readonly #limit: number;
  readonly #msPerToken: number;
  #tokens = 1;
  #atMs: number;

  constructor({ limit, perMs }: RateOptions, nowMs: number) {
    this.#limit = limit;
    this.#msPerToken = perMs / limit;
    this.#atMs = nowMs;
  }

  /** The time until there is a token, in milliseconds; 0 if there is one. */
  missingMs(nowMs: number): number {
    const filled = this.#tokens + (nowMs - this.#atMs) / this.#msPerToken;
    // Sums of fractions of a token may be a little below 1.
    if (filled >= 1 - ROUNDING) {
      this.#tokens = Math.min(Math.max(filled, 1), this.#limit);
      this.#atMs = nowMs;
      return 0;
    }
    return Math.ceil((1 - filled) * this.#msPerToken);
  }

  /** Takes a token, after `missingMs` was 0. */
  take(): void {
    this.#tokens -= 1;
  }
}

const ROUNDING = 1e-9;
