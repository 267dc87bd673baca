import { AgentError } from "../../errors.ts";
import type { AcceptedRequest } from "../journal/records.ts";

/** Holds the requests of one run until the run is ready for the next one. */
export class Mailbox {
  readonly #limit: number;
  readonly #items: AcceptedRequest[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Throws `overloaded` when the mailbox is full. */
  checkRoom(): void {
    if (this.#items.length < this.#limit) return;
    throw new AgentError("overloaded", `the run already has ${this.#limit} queued requests`, {
      retryAfterS: 1,
    });
  }

  /** Adds an item at the end. */
  post(item: AcceptedRequest): void {
    this.#items.push(item);
  }

  /** Adds an item at the front, even if the mailbox is full. */
  postFirst(item: AcceptedRequest): void {
    this.#items.unshift(item);
  }

  /** Removes and returns the oldest item, or `undefined` when there is none. */
  take(): AcceptedRequest | undefined {
    // A mailbox has few items, so shifting the array is cheap.
    return this.#items.shift();
  }

  /** Removes and returns the first item that matches. */
  remove(fits: (item: AcceptedRequest) => boolean): AcceptedRequest | undefined {
    const at = this.#items.findIndex(fits);
    return at < 0 ? undefined : this.#items.splice(at, 1)[0];
  }
}
