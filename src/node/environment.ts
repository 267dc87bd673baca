import { AsyncLocalStorage } from "node:async_hooks";
import { nanoid } from "nanoid";
import type { Environment, TurnAddress } from "../ports/environment.ts";

/** The environment of Node. */
export function nodeEnvironment(): Environment {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    timer: (ms, fire) => startTimer(ms, fire),
    macrotask: (run) => void setImmediate(run),
    newId: () => nanoid(),
    random: () => Math.random(),
    attribute: (turn, run) => turns.run(turn, run),
  };
}

/** The turn whose code is running, including its asynchronous continuations; `undefined` outside any turn. */
export function currentTurn(): TurnAddress | undefined {
  return turns.getStore();
}

const turns = new AsyncLocalStorage<TurnAddress>();

/** The maximum delay of a Node timer; a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

function startTimer(ms: number, fire: () => void): () => void {
  const end = performance.now() + ms;
  let timeout = next();
  return () => clearTimeout(timeout);

  function next(): NodeJS.Timeout {
    // Node prints a warning for a negative delay.
    const left = Math.max(Math.ceil(end - performance.now()), 0);
    return setTimeout(ring, Math.min(left, LONGEST_MS));
  }

  // Node counts from the start of the tick, so its timer may ring before the time.
  function ring(): void {
    if (performance.now() < end) timeout = next();
    else fire();
  }
}
