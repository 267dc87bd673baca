import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";

/** A batch of texts that wait for those that follow. */
export interface Gathering {
  /** When it was opened, in milliseconds since 1970. */
  openedAt: number;
  /** When it closes at the latest, in milliseconds of `monotonic`; `CLOSED` afterwards. */
  closesAtMs: number;
  /** Whether it closes with the next commit of any run. */
  isFull: boolean;
  /** Commits the batch, if it has not been committed before; must not throw. */
  close(): void;
}

/**
 * How long the texts of a run gather before they are committed together. A commit costs the same for one text as for ten,
 * so on a busy server texts that come at the pace of a model wait for those that follow. On an idle one none waits.
 *
 * The load is the number of runs that speak: each of them would commit every text. Those of all nodes that share the log count,
 * because it has the commits of all. The window is as long as it must be for them to make 400 such commits a second, up to a
 * maximum. With the first text after that time it is full: a timer that closes a window between two texts has kept those before
 * waiting for nothing. A full window closes with the next commit of any run of this process, or after 1.4 times its length, so that
 * one commit has what several runs say.
 *
 * Where successive texts share a row, a window is full earlier, because its texts cost the log hardly anything in a commit that is made
 * anyway. Where only a part of the runs speaks here, such commits are rarer, so a window is full after that part of the time. While one
 * run speaks here, there is none to wait for, and where a commit costs nothing, no reason to: then a full window closes at once.
 */
export class TextWindow {
  readonly #environment: Environment;
  readonly #maxMs: number;
  readonly #closesAtOnce: boolean;
  readonly #fullAfter: number;
  readonly #elsewhere: () => number;
  /** The current period of time, and the runs that have spoken in it and in the one before. */
  #period = 0;
  #speaking = 0;
  #spokeBefore = 0;
  /** The runs that speak on other nodes, as was known when the period began. */
  #speakElsewhere = 0;
  /** The windows in the order of their opening, open or closed. */
  #windows: Gathering[] = [];
  #open = 0;
  /** Those that close with the next commit. */
  #full: Gathering[] = [];
  #stopTimer: (() => void) | undefined;

  /** `maxMs` is the longest window, in milliseconds; 0 for none. `elsewhere` tells how many runs speak on other nodes. */
  constructor(
    environment: Environment,
    { durability, sharesRows = false }: Pick<EventLog, "durability" | "sharesRows">,
    maxMs: number,
    elsewhere: () => number = () => 0,
  ) {
    this.#environment = environment;
    this.#maxMs = maxMs;
    this.#closesAtOnce = durability === "memory";
    this.#fullAfter = sharesRows ? FULL_SHARED : 1;
    this.#elsewhere = elsewhere;
  }

  /** How many runs speak here. */
  get speaking(): number {
    const periods = Math.floor(this.#environment.now() / PERIOD_MS) - this.#period;
    if (periods === 0) return Math.max(this.#speaking, this.#spokeBefore);
    return periods === 1 ? this.#speaking : 0;
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
      this.#speakElsewhere = this.#elsewhere();
      this.#period = period;
    }
    if (period !== Math.floor(before / PERIOD_MS)) this.#speaking += 1;
    return at - before < this.#ms;
  }

  /** Opens a window for a batch, whose first text is said at a time in milliseconds since 1970. */
  open(at: number, close: () => void): Gathering {
    const latestMs = this.#ms * LATEST;
    const closesAtMs = this.#environment.monotonic() + latestMs;
    const gathering: Gathering = { openedAt: at, closesAtMs, isFull: false, close };
    this.#windows.push(gathering);
    this.#open += 1;
    if (this.#stopTimer === undefined) this.#wait(latestMs);
    return gathering;
  }

  /** Takes a text. Returns whether the window closes with it: it is full, and waits for no commit. */
  take(gathering: Gathering, at: number): boolean {
    if (gathering.isFull) return false;
    const waits = !this.#closesAtOnce && this.#othersHere > 0;
    const fullAfter = this.#fullAfter * (waits ? this.#partHere : 1);
    if (at - gathering.openedAt < this.#ms * fullAfter) return false;
    gathering.isFull = true;
    if (waits) this.#full.push(gathering);
    return !waits;
  }

  /** Closes the windows that wait for the next commit: a run is about to commit what does not wait. */
  join(): void {
    if (this.#full.length === 0) return;
    const full = this.#full;
    this.#full = [];
    this.#closeAll(full);
  }

  /** Closes a window before its time, without a commit. */
  drop(gathering: Gathering): void {
    if (gathering.closesAtMs === CLOSED) return;
    gathering.closesAtMs = CLOSED;
    this.#open -= 1;
    if (this.#open === 0) this.stop();
  }

  /** Stops the timer; no more windows close. */
  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#windows = [];
    this.#full = [];
  }

  /** The length of a window that opens now. */
  get #ms(): number {
    return Math.min((this.#othersHere + this.#speakElsewhere) * MS_FOR_EACH, this.#maxMs);
  }

  /** Which part of the runs that speak does so here. */
  get #partHere(): number {
    const here = this.#othersHere + 1;
    return here / (here + this.#speakElsewhere);
  }

  /** How many runs speak here besides one. */
  get #othersHere(): number {
    return Math.max(this.#speaking, this.#spokeBefore) - 1;
  }

  /** Waits for the window that was opened first. */
  #wait(ms: number): void {
    this.#stopTimer = this.#environment.timer(ms, this.#close);
  }

  /** Closes the windows whose time is over. The full ones close with their commit. */
  readonly #close = (): void => {
    this.#stopTimer = undefined;
    const now = this.#environment.monotonic();
    const over: Gathering[] = [];
    const left: Gathering[] = [];
    for (const gathering of this.#windows) {
      if (gathering.closesAtMs > now) left.push(gathering);
      else if (gathering.closesAtMs !== CLOSED) over.push(gathering);
    }
    this.#windows = left;
    const [first] = left;
    if (first !== undefined) this.#wait(first.closesAtMs - now);
    this.#closeAll(over);
  };

  #closeAll(gatherings: readonly Gathering[]): void {
    for (const gathering of gatherings) {
      if (gathering.closesAtMs === CLOSED) continue;
      this.drop(gathering);
      gathering.close();
    }
  }
}

/** Runs that speak are counted in periods of this length, in milliseconds. */
const PERIOD_MS = 100;

/** How much each further run that speaks makes the window longer, in milliseconds. */
const MS_FOR_EACH = 2.5;

/** After this many times its length a window is full where successive texts share a row. */
const FULL_SHARED = 0.75;

/** A window closes after this many times its length if no commit has taken its texts. */
const LATEST = 1.4;

/** The time of a window that is closed. */
const CLOSED = -Infinity;
