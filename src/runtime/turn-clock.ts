import type { Environment } from "../ports/environment.ts";

/** Measures how long a turn has run, without the time it rests, and calls out once when that is too long. */
export class TurnClock {
  readonly #environment: Environment;
  readonly #limitMs: number;
  readonly #expired: () => void;
  readonly #startedMs: number;
  #restedMs = 0;
  #restingSinceMs: number | undefined;
  #stopTimer: () => void;

  constructor(environment: Environment, limitMs: number, expired: () => void) {
    this.#environment = environment;
    this.#limitMs = limitMs;
    this.#expired = expired;
    this.#startedMs = environment.monotonic();
    this.#stopTimer = environment.timer(limitMs, () => this.#check());
  }

  /** Says whether the turn rests from now on. */
  rest(resting: boolean): void {
    if (resting === (this.#restingSinceMs !== undefined)) return;
    const now = this.#environment.monotonic();
    if (this.#restingSinceMs === undefined) {
      this.#restingSinceMs = now;
      return;
    }
    this.#restedMs += now - this.#restingSinceMs;
    this.#restingSinceMs = undefined;
  }

  stop(): void {
    this.#stopTimer();
  }

  #check(): void {
    const now = this.#environment.monotonic();
    const resting = this.#restingSinceMs === undefined ? 0 : now - this.#restingSinceMs;
    const leftMs = this.#limitMs - (now - this.#startedMs - this.#restedMs - resting);
    if (leftMs <= 0) this.#expired();
    else this.#stopTimer = this.#environment.timer(leftMs, () => this.#check());
  }
}
