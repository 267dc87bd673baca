import { stderr } from "./terminal.ts";
import { toDuration } from "./text.ts";

/** One line on a terminal that says how far a long command is, and how long the rest may take. Elsewhere it says nothing. */
export class Meter {
  readonly #unit: string;
  readonly #total: number | undefined;
  readonly #startedMs = performance.now();
  #shownMs: number | undefined;

  /**
   * @param unit What is counted, in the plural.
   * @param total How much there is, as far as it is known.
   */
  constructor(unit: string, total?: number) {
    this.#unit = unit;
    this.#total = total;
  }

  /** Shows what is done, with words behind it, at most ten times a second. */
  show(done: number, ...words: readonly string[]): void {
    const now = performance.now();
    if (!stderr.isTTY || now - (this.#shownMs ?? -EVERY_MS) < EVERY_MS) return;
    this.#shownMs = now;
    const [count, total] = [done, this.#total].map((number) => number?.toLocaleString("en"));
    const counted = total === undefined ? `${count} ${this.#unit}` : `${count} of ${total} ${this.#unit}`;
    stderr.redraw([counted, ...words, ...this.#left(done, now)].join(", "));
  }

  /** Removes the line. */
  end(): void {
    if (this.#shownMs !== undefined) stderr.redraw("");
    this.#shownMs = undefined;
  }

  /** Nothing while it is not known, and none when more was found than was there at first. */
  #left(done: number, now: number): readonly string[] {
    if (this.#total === undefined || done === 0 || done > this.#total) return [];
    return [`${toDuration(((now - this.#startedMs) / done) * (this.#total - done))} left`];
  }
}

const EVERY_MS = 100;
