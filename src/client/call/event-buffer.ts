import type { Event } from "../../protocol/events/events.ts";

/** The newest events of a request. Older ones are on the server. */
export class EventBuffer {
  readonly #events: Event[] = [];
  /** The id of the newest event that is no longer here. */
  #dropped = 0;

  /** The id of the newest event; 0 if there is none. */
  get last(): number {
    return this.#events.at(-1)?.id ?? this.#dropped;
  }

  add(events: readonly Event[]): void {
    for (const event of events) this.#events.push(event);
    if (this.#events.length <= LIMIT) return;
    // Half of them at once, because each removal moves all others.
    const removed = this.#events.splice(0, this.#events.length - LIMIT / 2);
    this.#dropped = removed.at(-1)?.id ?? this.#dropped;
  }

  /** The events behind one; `undefined` if some of them are no longer here. */
  after(id: number): readonly Event[] | undefined {
    if (id < this.#dropped) return undefined;
    const first = this.#events.findLastIndex((event) => event.id <= id) + 1;
    return this.#events.slice(first);
  }
}

const LIMIT = 10_000;
