import type { Environment } from "../../ports/environment.ts";

/** How many requests of clients are being accepted at once: enough for full commits, and few enough that one more waits for one of them. */
const AT_ONCE = 512;

/** How long a request waits at most while none of those before it comes to its end, in milliseconds. */
const STUCK_MS = 250;

/**
 * The door of requests of clients. While many come at once, their owners take turns: who sends very many does not hold back the others.
 * Those of one owner stay in their order.
 */
export class Admission {
  readonly #environment: Environment;
  /** The requests that wait, by owner; the owner that is next is the first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #inside = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Lets a request in; `undefined` if it may go on at once. `leave` is called when it is accepted or refused. */
  enter(owner: string): Promise<void> | undefined {
    if (this.#inside < AT_ONCE && this.#waiting.size === 0) {
      this.#inside += 1;
      return undefined;
    }
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(owner);
      if (waiting) waiting.push(resolve);
      else this.#waiting.set(owner, [resolve]);
      this.#watch();
    });
  }

  leave(): void {
    this.#inside -= 1;
    while (this.#inside < AT_ONCE && this.#waiting.size > 0) this.#next();
    this.#watch();
  }

  /** The runtime is closing: what waits goes on, and is refused. */
  stop(): void {
    while (this.#waiting.size > 0) this.#next();
    this.#watch();
  }

  #next(): void {
    for (const [owner, waiting] of this.#waiting) {
      this.#waiting.delete(owner);
      const first = waiting.shift();
      // The others come first, then this one again.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      this.#inside += 1;
      first?.();
      return;
    }
  }

  /** Those inside may wait for another node: then one of each owner goes on beside them. */
  #watch(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#waiting.size === 0) return;
    this.#stopTimer = this.#environment.timer(STUCK_MS, () => {
      this.#stopTimer = undefined;
      for (let owners = this.#waiting.size; owners > 0; owners -= 1) this.#next();
      this.#watch();
    });
  }
}
