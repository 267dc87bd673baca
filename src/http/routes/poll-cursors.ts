import { LruMap } from "../../shared/lru-map.ts";

/**
 * The position of each reader that polls without `since`: one cursor per request or run and consumer. Kept in
 * memory, and only for a limited number of readers: after a restart, or when its cursor was dropped, a reader
 * gets events again.
 */
export class PollCursors {
  readonly #cursors: LruMap<string, number>;

  constructor(limit: number = 10_000) {
    this.#cursors = new LruMap(limit);
  }

  /** The id of the last event that the reader has; 0 at first. */
  get(id: string, consumer: string): number {
    return this.#cursors.get(keyOf(id, consumer)) ?? 0;
  }

  /** Advances a reader. */
  advance(id: string, consumer: string, cursor: number): void {
    const key = keyOf(id, consumer);
    // Of two concurrent polls, the slower one must not move the cursor back.
    this.#cursors.set(key, Math.max(cursor, this.#cursors.get(key) ?? 0));
  }
}

function keyOf(id: string, consumer: string): string {
  return `${id} ${consumer}`;
}
