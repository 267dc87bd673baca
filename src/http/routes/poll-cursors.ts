/**
 * How far each reader has come that polls without saying so: one cursor per thing that is read and per
 * consumer. Kept in memory only, and only for so many readers: one that was forgotten, or polls after
 * a restart, gets events again that it has had.
 */
export class PollCursors {
  readonly #limit: number;
  // A Map keeps the order of insertion, so the reader that has not polled for longest is the first.
  readonly #cursors = new Map<string, number>();

  constructor(limit: number = 10_000) {
    this.#limit = limit;
  }

  /** The id of the last event the reader has had, 0 at first. */
  get(id: string, consumer: string): number {
    return this.#cursors.get(keyOf(id, consumer)) ?? 0;
  }

  /** Moves a reader forward. */
  advance(id: string, consumer: string, cursor: number): void {
    const key = keyOf(id, consumer);
    // Of two polls at once the slower one must not take the reader back.
    const furthest = Math.max(cursor, this.#cursors.get(key) ?? 0);
    this.#cursors.delete(key);
    const [oldest] = this.#cursors.keys();
    if (this.#cursors.size >= this.#limit && oldest !== undefined) this.#cursors.delete(oldest);
    this.#cursors.set(key, furthest);
  }
}

function keyOf(id: string, consumer: string): string {
  return `${id} ${consumer}`;
}
