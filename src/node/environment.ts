import { AsyncLocalStorage } from "node:async_hooks";
import { nanoid } from "nanoid";
import type { Environment, TurnAddress } from "../ports/environment.ts";

/** The environment of Node. */
export function nodeEnvironment(): Environment {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    timer: startTimer,
    alarm: (atMs, fire) => alarms.start(atMs, fire),
    macrotask: (run) => void setImmediate(run),
    newId,
    random: () => Math.random(),
    attribute: (turn, run) => turns.run(turn, run),
  };
}

/**
 * The time, and then what is random. So the ids of what was made together are together in an index of a database: a new one changes the page
 * that the one before has changed. What is removed after some time is together, too.
 */
function newId(): string {
  const time = Date.now().toString(36);
  return time + nanoid(ID_LENGTH - time.length);
}

const ID_LENGTH = 21;

/** The turn whose code is running, including its asynchronous continuations; `undefined` outside any turn. */
export function currentTurn(): TurnAddress | undefined {
  return turns.getStore();
}

const turns = new AsyncLocalStorage<TurnAddress>();

/** The maximum delay of a Node timer; a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

function startTimer(
  ms: number,
  fire: () => void,
  { background = false }: { readonly background?: boolean } = {},
): () => void {
  const end = performance.now() + ms;
  let timeout = next();
  return () => clearTimeout(timeout);

  function next(): NodeJS.Timeout {
    // Node prints a warning for a negative delay.
    const left = Math.max(Math.ceil(end - performance.now()), 0);
    const timer = setTimeout(ring, Math.min(left, LONGEST_MS));
    return background ? timer.unref() : timer;
  }

  // Node counts from the start of the tick, so its timer may ring before the time.
  function ring(): void {
    if (performance.now() < end) timeout = next();
    else fire();
  }
}

/** How often the clock is compared with the timers while there are alarms, in milliseconds. */
const LOOK_MS = 5_000;

/** The difference from which the clock has jumped, in milliseconds. */
const JUMP_MS = 1_000;

interface Alarm {
  readonly atMs: number;
  readonly fire: () => void;
  stop: () => void;
}

/**
 * Timers that go by the clock. Each is a timer for the time that is left, and one look at the clock from time to time sets
 * all of them again when the clock has jumped forward: the timers of Node stand still while the machine is suspended.
 */
class Alarms {
  readonly #alarms = new Set<Alarm>();
  #look: NodeJS.Timeout | undefined;
  /** How far the clock was ahead of the timers when the alarms were set. */
  #aheadMs = 0;

  start(atMs: number, fire: () => void): () => void {
    if (this.#alarms.size === 0) this.#watch();
    const alarm: Alarm = { atMs, fire, stop() {} };
    this.#alarms.add(alarm);
    this.#set(alarm);
    return () => this.#remove(alarm);
  }

  #set(alarm: Alarm): void {
    alarm.stop = startTimer(alarm.atMs - Date.now(), () => {
      this.#remove(alarm);
      alarm.fire();
    });
  }

  #remove(alarm: Alarm): void {
    alarm.stop();
    this.#alarms.delete(alarm);
    if (this.#alarms.size > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }

  #watch(): void {
    this.#aheadMs = ahead();
    this.#look ??= setInterval(() => {
      const before = this.#aheadMs;
      const now = ahead();
      if (Math.abs(now - before) < JUMP_MS) return;
      this.#aheadMs = now;
      // After a step back the alarms keep the duration that was left.
      if (now < before) return;
      for (const alarm of this.#alarms) {
        alarm.stop();
        this.#set(alarm);
      }
    }, LOOK_MS);
    // The alarms keep the process alive, and this does not.
    this.#look.unref();
  }
}

function ahead(): number {
  return Date.now() - performance.now();
}

const alarms = new Alarms();
