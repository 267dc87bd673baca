import type { Environment } from "../../ports/environment.ts";

/** A batch of texts that wait for those that follow. */
export interface Gathering {
  /** The tick of the window's clock from which the next text closes the window. */
  fullAt: number;
  /** The tick at which it closes at the latest; `CLOSED` afterwards. */
  closesAt: number;
  /** Commits the batch, if it has not been committed before; must not throw. */
  close(): void;
}

/**
 * How long the texts of a run gather before they are committed together. A commit costs the same for one text as for ten,
 * so on a busy server texts that come at the pace of a model wait for those that follow. On an idle one none waits.
 *
 * The load is the number of runs that speak: each of them would commit every text. The window is as long as it must be for
 * the process to make 400 such commits a second, up to a maximum. The first text after that time closes it: a timer that
 * closes a window between two texts has kept those before waiting for nothing. It then closes with the next commit of any run,
 * at the latest at the next tick of a clock that runs while a window is open, so that one commit has what several runs say.
 */
export class TextWindow {
  readonly #environment: Environment;
  readonly #maxMs: number;
  readonly #tickMs: number;
  /** The current period of time, and the runs that have spoken in it and in the one before. */
  #period = 0;
  #speaking = 0;
  #spokeBefore = 0;
  #tick = 0;
  /** The open windows, and those that were closed since the newest tick. */
  #windows: Gathering[] = [];
  #open = 0;
  /** Those that close with the next commit. */
  #full: Gathering[] = [];
  #stopTimer: (() => void) | undefined;

  /** `maxMs` is the longest window, in milliseconds; 0 for none. */
  constructor(environment: Environment, maxMs: number) {
    this.#environment = environment;
    this.#maxMs = maxMs;
    this.#tickMs = Math.max(Math.floor(maxMs / TICKS), 1);
  }

  /**
   * Counts a run that says a text, and tells whether a text that follows another one waits for those after it. One that comes
   * after a silence does not: no other will come before the window closes.
   *
   * @param at The time of the text, in milliseconds since 1970.
   * @param before The time of the run's text before; `-Infinity` for none.
   */
  gathers(at: number, before: number): boolean {
    if (this.#maxMs === 0) return false;
    const period = Math.floor(at / PERIOD_MS);
    if (period !== this.#period) {
      this.#spokeBefore = period === this.#period + 1 ? this.#speaking : 0;
      this.#speaking = 0;
      this.#period = period;
    }
    if (period !== Math.floor(before / PERIOD_MS)) this.#speaking += 1;
    return at - before < this.#ms;
  }

  /** Opens a window for a batch. */
  open(gathering: Gathering): void {
    const ticks = this.#ms / this.#tickMs;
    gathering.fullAt = this.#tick + Math.ceil(ticks);
    gathering.closesAt = this.#tick + Math.ceil(ticks * LATEST);
    this.#windows.push(gathering);
    this.#open += 1;
    if (this.#stopTimer === undefined) this.#wait();
  }

  /** Takes a text. The first one that comes after the length of the window closes it with the next commit. */
  take(gathering: Gathering): void {
    if (this.#tick < gathering.fullAt || gathering.closesAt === this.#tick) return;
    gathering.closesAt = this.#tick;
    this.#full.push(gathering);
  }

  /** Closes the windows that wait for the next commit: a run is about to commit what does not wait. */
  join(): void {
    if (this.#full.length === 0) return;
    const full = this.#full;
    this.#full = [];
    for (const gathering of full) {
      if (gathering.closesAt === CLOSED) continue;
      this.drop(gathering);
      gathering.close();
    }
  }

  /** Closes a window before its time, without a commit. */
  drop(gathering: Gathering): void {
    if (gathering.closesAt === CLOSED) return;
    gathering.closesAt = CLOSED;
    this.#open -= 1;
    if (this.#open === 0) this.stop();
  }

  /** Stops the clock; no more windows close. */
  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#windows = [];
    this.#full = [];
  }

  /** The length of a window that opens now. */
  get #ms(): number {
    const others = Math.max(this.#speaking, this.#spokeBefore) - 1;
    return Math.min(others * MS_FOR_EACH, this.#maxMs);
  }

  #wait(): void {
    this.#stopTimer = this.#environment.timer(this.#tickMs, this.#close);
  }

  readonly #close = (): void => {
    this.#stopTimer = undefined;
    this.#tick += 1;
    this.#full = [];
    const over = this.#windows.filter(({ closesAt }) => closesAt !== CLOSED && closesAt <= this.#tick);
    this.#windows = this.#windows.filter(({ closesAt }) => closesAt > this.#tick);
    this.#open = this.#windows.length;
    if (this.#open > 0) this.#wait();
    for (const gathering of over) gathering.closesAt = CLOSED;
    for (const gathering of over) gathering.close();
  };
}

/** Runs that speak are counted in periods of this length, in milliseconds. */
const PERIOD_MS = 100;

/** How much each further run that speaks makes the window longer, in milliseconds. */
const MS_FOR_EACH = 2.5;

/** How often the clock ticks in the length of the longest window. */
const TICKS = 6;

/** A window closes after this many times its length if no more texts come. */
const LATEST = 1.6;

/** The tick of a window that is closed. */
const CLOSED = -1;
