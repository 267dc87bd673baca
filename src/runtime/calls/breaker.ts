import type { Environment } from "../../ports/environment.ts";
import type { Model } from "../../ports/model.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { ModelLoad } from "../api.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Backoff } from "../../shared/backoff.ts";

/** The permission to ask a model once. Only the first report of its end counts. */
export interface Pass {
  /** The model has answered. */
  succeeded(): void;
  /** The model was away: it is asked again after a pause, or after the time that its provider wants. */
  failed(backoff: Backoff, retryAfterMs?: number): void;
  /** The attempt ended and says nothing about the model. */
  returned(): void;
}

/** A call in memory that waits for a pass, or a run that is loaded when it gets one. */
type Waiter = { grant(pass: Pass): void; wake?: undefined } | { wake(): void; grant?: undefined };

/** So many failures in a row, without an answer between them, mean that the model is away. */
const FAILURES_LIMIT = 3;

/** With runs that wait, so many attempts run at once before the first answer. */
const FIRST_WINDOW = 8;

/** How many more attempts run at once after each answer, until nothing waits. */
const WINDOW_STEP = 3;

/** No more attempts than this run at once while others wait. */
const LARGEST_WINDOW = 256;

/** A run that was woken for its pass has this time to take it, in milliseconds. */
const WAKE_MS = 10_000;

/**
 * The breaker of one model and account in a process. While the model is away, one request at a time asks it, after pauses
 * that grow, and all others rest. With its first answer they begin again, a few at first and more with each answer, in the
 * order in which they came; a new request waits behind them.
 */
export class Breaker {
  readonly #environment: Environment;
  readonly #idle: () => void;
  /** How many attempts may run at once: none while the model is away, and one to find out whether it still is. */
  #window = Infinity;
  #running = 0;
  /** The failures since the last answer. */
  #failures = 0;
  /** How often in a row the model was found away. */
  #outages = 0;
  #retryAtMs = 0;
  #stopTimer: (() => void) | undefined;
  /** Who waits, the longest first: calls by themselves, runs that are not in memory by their ids. */
  readonly #waiting = new Map<Waiter | RunId, Waiter>();
  /** The runs that were woken and have not taken their pass, with the timers of their time. */
  readonly #coming = new Map<RunId, () => void>();

  /** `idle` is called when it has nothing to remember. */
  constructor(environment: Environment, idle: () => void) {
    this.#environment = environment;
    this.#idle = idle;
  }

  /** A pass for a call of a run that begins now; `undefined` while the model is away or others wait before it. */
  take(runId: RunId): Pass | undefined {
    const isAwaited = this.#arrived(runId);
    if (!this.#isFree || (!isAwaited && this.#waiting.size > 0)) return undefined;
    return this.#begin();
  }

  /** Waits for a pass. Returns a function that leaves; it does nothing once the pass is given. */
  wait(runId: RunId, grant: (pass: Pass) => void): () => void {
    if (this.#arrived(runId) && this.#isFree) {
      grant(this.#begin());
      return () => {};
    }
    const waiter: Waiter = { grant };
    this.#waiting.delete(runId);
    this.#waiting.set(waiter, waiter);
    this.#serve();
    return () => {
      if (this.#waiting.delete(waiter)) this.#rest();
    };
  }

  /** Has a run that is not in memory wait for a pass. `wake` loads it, and its call takes the pass. */
  park(runId: RunId, wake: () => void): void {
    // It is not known whether the model is there when a process has just started.
    if (this.#window === Infinity) this.#window = Math.max(FIRST_WINDOW, this.#running);
    this.#waiting.set(runId, { wake });
    this.#serve();
  }

  /** Forgets a run that waits. */
  leave(runId: RunId): void {
    if (this.#waiting.delete(runId)) this.#rest();
  }

  /** Whether the model is away, and how many calls and runs wait for it. */
  get load(): { readonly isAway: boolean; readonly waiting: number } {
    return { isAway: this.#window <= 1, waiting: this.#waiting.size };
  }

  /** Stops its timers. */
  stop(): void {
    this.#stopTimer?.();
    for (const stop of this.#coming.values()) stop();
  }

  get #isFree(): boolean {
    return this.#running + this.#coming.size < this.#window;
  }

  #arrived(runId: RunId): boolean {
    this.#coming.get(runId)?.();
    return this.#coming.delete(runId);
  }

  #begin(): Pass {
    this.#running += 1;
    let isOver = false;
    const end = (report: () => void): void => {
      if (isOver) return;
      isOver = true;
      this.#running -= 1;
      report();
      this.#serve();
      this.#rest();
    };
    return {
      succeeded: () => end(() => this.#answered()),
      failed: (backoff, retryAfterMs) => end(() => this.#failed(backoff, retryAfterMs)),
      returned: () => end(() => {}),
    };
  }

  #answered(): void {
    this.#failures = 0;
    this.#outages = 0;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#window === Infinity) return;
    const isOver = this.#waiting.size === 0 && this.#coming.size === 0;
    this.#window = isOver ? Infinity : Math.min(this.#window + WINDOW_STEP, LARGEST_WINDOW);
  }

  #failed(backoff: Backoff, retryAfterMs = 0): void {
    const environment = this.#environment;
    this.#failures += 1;
    const isAway = this.#window === 0;
    if (!isAway && this.#window > 1 && this.#failures < FAILURES_LIMIT) return;
    if (!isAway) this.#outages += 1;
    const pauseMs = isAway ? 0 : backoffMs(backoff, this.#outages - 1, environment.random());
    this.#window = 0;
    const retryAtMs = environment.monotonic() + Math.max(pauseMs, retryAfterMs);
    if (this.#stopTimer !== undefined && retryAtMs <= this.#retryAtMs) return;
    this.#retryAtMs = retryAtMs;
    this.#stopTimer?.();
    this.#stopTimer = environment.timer(retryAtMs - environment.monotonic(), () => {
      this.#stopTimer = undefined;
      this.#window = 1;
      this.#serve();
    });
  }

  /** Gives passes to those who wait. */
  #serve(): void {
    while (this.#isFree) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [key, waiter] = next;
      this.#waiting.delete(key);
      if (waiter.grant) waiter.grant(this.#begin());
      else this.#wake(key as RunId, waiter.wake);
    }
  }

  #wake(runId: RunId, wake: () => void): void {
    this.#arrived(runId);
    const stop = this.#environment.timer(WAKE_MS, () => {
      this.#coming.delete(runId);
      this.#serve();
      this.#rest();
    });
    this.#coming.set(runId, stop);
    wake();
  }

  #rest(): void {
    const isEmpty = this.#running === 0 && this.#waiting.size === 0 && this.#coming.size === 0;
    if (isEmpty && this.#failures === 0) this.#idle();
  }
}

/** A run at rest that is not in memory. */
export interface ParkedRun {
  readonly runId: RunId;
  /** The breakers of the models that it can ask, by name. */
  readonly models: readonly string[];
  /** When it must continue even if no model is there, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** Loads it. */
  wake(): void;
}

/** The breakers of a runtime: one for each model and account. */
export class Breakers {
  readonly #environment: Environment;
  readonly #breakers = new Map<string, Breaker>();
  readonly #parked = new Map<RunId, ParkedRun>();
  #alarmAt = Infinity;
  #stopAlarm = (): void => {};

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The breaker of a model. */
  of(model: Model): Breaker {
    return this.#named(breakerName(model));
  }

  /** Has a run that is not in memory wait until one of its models is there. */
  park(run: ParkedRun): void {
    const { runId, models, expiresAt } = run;
    this.#leave(runId);
    this.#parked.set(runId, run);
    this.#watch(expiresAt);
    for (const name of models) this.#named(name).park(runId, () => this.#wake(runId));
  }

  /** The models that have failed lately or that are waited for, with their accounts. */
  load(): readonly ModelLoad[] {
    return Array.from(this.#breakers, ([model, breaker]) => ({ model, ...breaker.load }));
  }

  /** Wakes nobody from now on. */
  stop(): void {
    this.#stopAlarm();
    this.#alarmAt = -Infinity;
    for (const breaker of this.#breakers.values()) breaker.stop();
  }

  #named(name: string): Breaker {
    const known = this.#breakers.get(name);
    if (known) return known;
    const breaker = new Breaker(this.#environment, () => this.#breakers.delete(name));
    this.#breakers.set(name, breaker);
    return breaker;
  }

  #wake(runId: RunId): void {
    const run = this.#parked.get(runId);
    this.#leave(runId);
    run?.wake();
  }

  #leave(runId: RunId): void {
    const run = this.#parked.get(runId);
    this.#parked.delete(runId);
    if (this.#parked.size === 0) {
      this.#stopAlarm();
      if (this.#alarmAt > -Infinity) this.#alarmAt = Infinity;
    }
    for (const name of run?.models ?? []) this.#breakers.get(name)?.leave(runId);
  }

  #watch(atMs: number): void {
    if (atMs >= this.#alarmAt) return;
    this.#stopAlarm();
    this.#alarmAt = atMs;
    this.#stopAlarm = this.#environment.alarm(atMs, () => {
      this.#alarmAt = Infinity;
      const now = this.#environment.now();
      let next = Infinity;
      for (const { runId, expiresAt } of this.#parked.values()) {
        if (expiresAt <= now) this.#wake(runId);
        else next = Math.min(next, expiresAt);
      }
      this.#watch(next);
    });
  }
}

/** The name of a model's breaker: the model, with its account if it has one. */
export function breakerName({ name, account }: Pick<Model, "name" | "account">): string {
  return account === undefined ? name : `${name} (${account})`;
}
