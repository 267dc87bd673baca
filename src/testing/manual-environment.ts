import type { Environment } from "../ports/environment.ts";
import { createRandom } from "./event-log/random.ts";

/** What a manual environment begins with. */
export interface ManualEnvironmentOptions {
  /**
   * Decides which of several macrotasks runs next, and the random numbers; the same seed gives the
   * same course. Default 0, which leaves macrotasks in their order.
   */
  readonly seed?: number;
  /** What the clock shows at first, in milliseconds since 1970. Default the beginning of 2026. */
  readonly startMs?: number;
}

/** An environment whose time stands still until a test moves it, and whose ids are counted. */
export interface ManualEnvironment extends Environment {
  /** How many timers are armed. */
  readonly timers: number;
  /** In how many milliseconds the next timer fires; `undefined` when none is armed. */
  readonly nextTimerMs: number | undefined;
  /** Resolves when nothing is left to do at the present time. */
  idle(): Promise<void>;
  /** Lets time pass: fires the timers that fall due, one after the other, and all that follows from each. */
  advance(ms: number): Promise<void>;
}

/**
 * Makes an environment for tests. Macrotasks run by themselves, one in each turn of the event loop;
 * timers fire only when time is told to pass.
 */
export function manualEnvironment({
  seed = 0,
  startMs = Date.UTC(2026, 0, 1),
}: ManualEnvironmentOptions = {}): ManualEnvironment {
  const timers = new Set<Timer>();
  const tasks: (() => void)[] = [];
  const order = createRandom(seed);
  const numbers = createRandom(seed + 1);
  let nowMs = startMs;
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
    // First, so that the loop goes on even if the task throws.
    setImmediate(runNext);
    task();
  }

  function next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers) if (first === undefined || timer.atMs < first.atMs) first = timer;
    return first;
  }

  function idle(): Promise<void> {
    return new Promise((resolve) => {
      whenIdle.push(resolve);
      pump();
    });
  }

  return {
    now: () => nowMs,
    monotonic: () => nowMs - startMs,
    timer(ms, fire) {
      const timer = { atMs: nowMs + Math.max(ms, 0), fire };
      timers.add(timer);
      return () => timers.delete(timer);
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
      const timer = next();
      return timer && timer.atMs - nowMs;
    },
    idle,
    async advance(ms) {
      await idle();
      const endMs = nowMs + ms;
      for (let timer = next(); timer !== undefined && timer.atMs <= endMs; timer = next()) {
        timers.delete(timer);
        nowMs = Math.max(nowMs, timer.atMs);
        timer.fire();
        await idle();
      }
      nowMs = endMs;
    },
  };
}

const ID_LENGTH = 21;
const RANGE = 2 ** 32;

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}
