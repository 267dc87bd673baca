import { AgentError } from "../errors.ts";

/** Holds the requests of one run until the run is ready for the next one. */
export class Mailbox<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Throws `overloaded` when the mailbox is full. */
  checkRoom(): void {
    if (this.#items.length < this.#limit) return;
    throw new AgentError("overloaded", `${this.#limit} requests already wait for this run`, {
      retryAfterS: 1,
    });
  }

  /** Adds an item at the end. */
  post(item: Item): void {
    this.#items.push(item);
  }

  /** Adds an item before all others, whether or not there is room. */
  postFirst(item: Item): void {
    this.#items.unshift(item);
  }

  /** Removes and returns the oldest item, or `undefined` when there is none. */
  take(): Item | undefined {
    // A mailbox holds few items, so moving them costs nothing that shows.
    return this.#items.shift();
  }

  /** Removes and returns the first item that fits, wherever it stands. */
  remove(fits: (item: Item) => boolean): Item | undefined {
    const at = this.#items.findIndex(fits);
    return at < 0 ? undefined : this.#items.splice(at, 1)[0];
  }
}
