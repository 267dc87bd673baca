import { addEvents, countTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { GrowingTexts, LoggedEvents } from "../../protocol/events/texts.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { firstOf } from "./page-events.ts";

/** Successive events of a run after a position; it grows at its end. */
export class EventList {
  /** The id of the event before the first one. */
  readonly after: number;
  readonly #items: (string | GrowingTexts)[] = [];
  /** The id of the last event of each item; absent while each item is one event, as in a short run. */
  #ends: number[] | undefined;

  constructor(after: number) {
    this.after = after;
  }

  /** The id of the newest event. */
  get head(): number {
    return this.#endOf(this.#items.length - 1);
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** All events. The caller must not use the list any more, because its texts would grow. */
  get all(): LoggedEvents {
    return this.#items;
  }

  add(events: LoggedEvents): void {
    const items = this.#items;
    const from = Math.max(items.length - 1, 0);
    let end = this.#endOf(from - 1);
    addEvents(items, events);
    for (let index = from; index < items.length; index += 1) {
      const item = items[index];
      const count = typeof item === "object" ? countTexts(item) : 1;
      end += count;
      if (count > 1) this.#ends ??= items.slice(0, index).map((_, before) => this.#endOf(before));
      if (this.#ends !== undefined) this.#ends[index] = end;
    }
  }

  /** Reads the events after an id that is not before the start of the list. */
  read({ after, limit, limitBytes }: ReadOptions): LoggedEvents {
    if (after >= this.head) return NONE;
    const index = this.#indexAfter(after);
    const skip = after - this.#endOf(index - 1);
    // The usual reader wants the newest events.
    const items = index === 0 ? this.#items : this.#items.slice(index, limit && index + limit);
    const page = firstOf(items, { skip, limit, limitBytes });
    const last = page.at(-1);
    // The newest texts may grow while the reader has them.
    if (typeof last !== "object" || last !== this.#items.at(-1)) return page;
    return [...page.slice(0, -1), sliceTexts(last, 0, countTexts(last))];
  }

  /** The id of the last event of an item; `after` for the item before the first. */
  #endOf(index: number): number {
    if (this.#ends === undefined || index < 0) return this.after + index + 1;
    return this.#ends[index] ?? this.after;
  }

  /** The index of the item that contains the event after an id. */
  #indexAfter(after: number): number {
    let low = 0;
    let high = this.#items.length - 1;
    // The usual reader wants an event of the newest item.
    if (this.#endOf(high - 1) <= after) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#endOf(middle) <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const NONE: LoggedEvents = [];
