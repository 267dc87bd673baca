import type { Environment } from "../ports/environment.ts";
import { createRandom } from "./event-log/random.ts";
import { TimerQueue } from "./timer-queue.ts";

/** How a manual environment begins. */
export interface ManualEnvironmentOptions {
  /**
   * Determines the order of ready macrotasks and the random numbers; the same seed gives the same order.
   * Default 0, which runs macrotasks in the order of their creation.
   */
  readonly seed?: number;
  /** The initial time in milliseconds since 1970. Default: the start of 2026. */
  readonly startMs?: number;
}

/** An environment whose time only moves when a test advances it, and whose ids are sequential. */
export interface ManualEnvironment extends Environment {
  /** The number of active timers. */
  readonly timers: number;
  /** The time until the next timer in milliseconds; `undefined` if there is none. */
  readonly nextTimerMs: number | undefined;
  /** Resolves when no work is left at the current time. */
  idle(): Promise<void>;
  /** Advances the time: fires due timers one after the other, with all work that follows from each. */
  advance(ms: number): Promise<void>;
  /**
   * Sets the clock forward or back while no time passes, as when the machine was suspended. Alarms of times that are over
   * fire with the next advance.
   */
  step(ms: number): void;
}

/**
 * Creates an environment for tests. Macrotasks run by themselves, one per turn of the event loop; timers fire
 * only when the time is advanced.
 */
export function manualEnvironment({
  seed = 0,
  startMs = Date.UTC(2026, 0, 1),
}: ManualEnvironmentOptions = {}): ManualEnvironment {
  const timers = new TimerQueue();
  const tasks: (() => void)[] = [];
  const order = createRandom(seed);
  const numbers = createRandom(seed + 1);
  let nowMs = startMs;
  let steppedMs = 0;
  let ids = 0;
  let pumping = false;
  let whenIdle: (() => void)[] = [];

  function pump(): void {
    if (pumping) return;
    pumping = true;
    setImmediate(runNext);
  }

  function runNext(): void {
    const at = seed === 0 ? 0 : order.below(tasks.length);
    const [task] = tasks.splice(at, 1);
    if (task === undefined) {
      pumping = false;
      const waiting = whenIdle;
      whenIdle = [];
      for (const resolve of waiting) resolve();
      return;
    }
    // Scheduled first, so that the loop continues even if the task throws.
    setImmediate(runNext);
    task();
  }

  function idle(): Promise<void> {
    return new Promise((resolve) => {
      whenIdle.push(resolve);
      pump();
    });
  }

  return {
    now: () => nowMs + steppedMs,
    monotonic: () => nowMs - startMs,
    timer(ms, fire) {
      return timers.add({ atMs: nowMs + Math.max(ms, 0), fire, isAlarm: false });
    },
    alarm(atMs, fire) {
      return timers.add({ atMs: Math.max(atMs - steppedMs, nowMs), fire, isAlarm: true });
    },
    macrotask(run) {
      tasks.push(run);
      pump();
    },
    newId() {
      ids += 1;
      return String(ids).padStart(ID_LENGTH, "0");
    },
    random: () => numbers.below(RANGE) / RANGE,
    attribute: (_turn, run) => run(),
    get timers() {
      return timers.size;
    },
    get nextTimerMs() {
      const timer = timers.first();
      return timer && timer.atMs - nowMs;
    },
    idle,
    async advance(ms) {
      await idle();
      const endMs = nowMs + ms;
      for (let timer = timers.first(); timer !== undefined && timer.atMs <= endMs; timer = timers.first()) {
        timers.takeFirst();
        nowMs = Math.max(nowMs, timer.atMs);
        timer.fire();
        await idle();
      }
      nowMs = endMs;
    },
    step(ms) {
      steppedMs += ms;
      // After a step back the alarms keep the duration that was left.
      if (ms <= 0) return;
      timers.move((timer) => (timer.isAlarm ? Math.max(timer.atMs - ms, nowMs) : timer.atMs));
    },
  };
}

const ID_LENGTH = 21;
const RANGE = 2 ** 32;
