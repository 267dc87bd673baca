import { countTexts, joinTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { GrowingTexts, LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { pack } from "./packed-texts.ts";
import type { KeptEvents, PackedTexts } from "./packed-texts.ts";
import { firstOf } from "./page-events.ts";

/** Successive events of a run after a position; it grows at its end. */
export class EventList {
  /** The id of the event before the first one. */
  readonly after: number;
  readonly #items: (string | Texts | PackedTexts)[] = [];
  /** The last item, if other texts can join it. */
  #growing: GrowingTexts | undefined;
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

  /** All events. The caller must not use the list any more. */
  get all(): KeptEvents {
    this.#pack();
    return this.#items;
  }

  add(events: LoggedEvents): void {
    for (const item of events) {
      const count = typeof item === "string" ? 1 : countTexts(item);
      if (typeof item === "string") {
        this.#push(item, 1);
      } else if (this.#growing === undefined || !joinTexts(this.#growing, item)) {
        const { speaker, ending, first, at, said } = item;
        const growing = { speaker, ending, first, at, said: [...said] };
        this.#push(growing, count);
        this.#growing = growing;
      } else {
        this.#moveEnd(count);
      }
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
    if (typeof last !== "object" || last !== this.#growing) return page;
    return [...page.slice(0, -1), sliceTexts(last, 0, countTexts(last))];
  }

  #push(item: string | Texts, count: number): void {
    this.#pack();
    const end = this.head + count;
    this.#items.push(item);
    if (this.#ends !== undefined) this.#ends.push(end);
    else if (count > 1) this.#listEnds(end);
  }

  #moveEnd(added: number): void {
    const end = this.head + added;
    if (this.#ends === undefined) this.#listEnds(end);
    else this.#ends[this.#ends.length - 1] = end;
  }

  #listEnds(end: number): void {
    this.#ends = this.#items.map((_, index) => this.after + index + 1);
    this.#ends[this.#ends.length - 1] = end;
  }

  /** Packs the last texts, because none will join them. */
  #pack(): void {
    if (this.#growing === undefined) return;
    this.#items[this.#items.length - 1] = pack(this.#growing);
    this.#growing = undefined;
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
