import { Unavailable } from "../../ports/event-log.ts";
import type { Page } from "../../ports/event-log.ts";
import type { LogRecord } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { firstOf, sizeOf } from "../shared/page-events.ts";

/** A row with successive events of a run, and the records that were appended with them. */
export interface LogChunk {
  /** The id of its first event; without events, the id after the run's newest event. */
  readonly first: number;
  /** The id of its last event, or of the last one that is wanted. */
  readonly last: number;
  /** The number of records of the run up to the end of the chunk. */
  readonly records_end: number;
  /** The records as JSON. */
  readonly records: string | null;
}

/** Builds a page of a run's log from its chunks, which are added in their order. */
export class PageBuilder<Chunk extends LogChunk> {
  readonly #head: number;
  readonly #options: ReadOptions;
  readonly #verify: (chunk: Chunk) => void;
  readonly #eventsOf: (chunk: Chunk) => LoggedEvents;
  readonly #events: (string | Texts)[] = [];
  readonly #records: LogRecord[] = [];
  #last: number;
  #room: number;
  #full: boolean;
  #cut = false;

  /** `verify` throws if a chunk is damaged. */
  constructor(
    head: number,
    options: ReadOptions,
    { verify, eventsOf }: { verify(chunk: Chunk): void; eventsOf(chunk: Chunk): LoggedEvents },
  ) {
    this.#head = head;
    this.#options = options;
    this.#verify = verify;
    this.#eventsOf = eventsOf;
    this.#last = options.after;
    this.#room = options.limitBytes ?? Infinity;
    this.#full = options.limit !== undefined && options.limit <= 0;
  }

  /** Adds the next chunk. Returns false if the page needs neither this chunk nor a later one. */
  add(chunk: Chunk): boolean {
    const {
      after,
      limit = Infinity,
      limitBytes = Infinity,
      records = false,
      afterRecord = 0,
    } = this.#options;
    const isNext = chunk.first <= this.#last + 1;
    this.#cut = records && this.#room <= 0 && this.#room < limitBytes && isNext;
    if (this.#cut) return false;
    if (this.#full && (!records || !isNext)) return false;
    if (!this.#full && !isNext) throw damaged();
    this.#verify(chunk);
    if (!this.#full && chunk.last > this.#last) {
      const skip = this.#last + 1 - chunk.first;
      const most = Math.min(limit - (this.#last - after), chunk.last - this.#last);
      const range = { skip, limit: most, limitBytes: this.#room };
      const next = firstOf(this.#eventsOf(chunk), range, this.#last === after ? 1 : 0);
      for (const item of next) this.#events.push(item);
      if (this.#room < Infinity) this.#room -= sizeOf(next);
      this.#last += countEvents(next);
      this.#full = this.#last < chunk.last || this.#last - after >= limit;
    }
    if (records && chunk.records !== null && chunk.records_end > afterRecord) {
      const all = JSON.parse(chunk.records) as LogRecord[];
      const wanted = all.filter((record) => record.n > afterRecord && record.after >= after);
      for (const record of wanted) this.#records.push(record);
      if (wanted.length > 0) this.#room -= chunk.records.length;
    }
    return true;
  }

  /** The page, when no chunk is left or needed. */
  finish(): Page {
    if (!this.#full && !this.#cut && this.#last < this.#head) throw damaged();
    return {
      events: this.#events,
      records: this.#records.filter((record) => record.after <= this.#last),
      head: this.#head,
      ...(this.#cut && { cut: true }),
    };
  }
}

export function damaged(): Unavailable {
  return new Unavailable("a part of this run is damaged in the log");
}
