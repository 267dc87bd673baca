import type { LogReader, Page } from "../../ports/event-log.ts";
import type { Base, LogRecord } from "../../ports/log-batch.ts";
import type { RunEntry, RunEntryPage, Snapshot, WaitEntry } from "../../ports/log-entries.ts";
import type { ReadOptions, RunEntryQuery } from "../../ports/log-queries.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { toListCursor } from "../shared/lists.ts";
import { firstOf, sizeOf } from "../shared/page-events.ts";
import { hasWords, endedOutput, wordsOf, wordsOfSearch } from "../shared/search-text.ts";
import { isUnreadable, sealedIn } from "./key-ring.ts";
import type { KeyRing } from "./key-ring.ts";
import { hasSealed, openEvents } from "./sealed-events.ts";

/** Reads the runs of a log whose engine has only what is encrypted. */
export class EncryptedReader implements LogReader {
  readonly #log: LogReader;
  readonly #ring: KeyRing;
  readonly #owners = new LruMap<RunId, string>(RUNS_KNOWN);

  constructor(log: LogReader, ring: KeyRing) {
    this.#log = log;
    this.#ring = ring;
  }

  readonly list: LogReader["list"] = async ({ text, metadata: _metadata, ...query }) => {
    if (text !== undefined) return this.#search(query, wordsOfSearch(text));
    const page = await this.#log.list(query);
    return { ...page, runs: await Promise.all(page.runs.map((run) => this.openRow(run))) };
  };

  readonly run: LogReader["run"] = async (runId, owner) => {
    const run = await this.#log.run(runId, owner);
    return run && this.openRow(run);
  };

  readonly lookup: LogReader["lookup"] = (requestId, owner) => this.#log.lookup(requestId, owner);

  readonly requests: LogReader["requests"] = (query) => this.#log.requests(query);

  readonly read: LogReader["read"] = async (runId, options) => {
    const page = await this.#openPage(runId, options, await this.#log.read(runId, options));
    const { limit = Infinity, limitBytes = Infinity, records = false } = options;
    // The engine has counted what is encrypted.
    const events = firstOf(page.events, { limitBytes });
    const after = page.base?.head ?? options.after;
    const last = after + countEvents(events);
    if (events.length < page.events.length || last < after + countEvents(page.events))
      return {
        ...page,
        events,
        records: page.records.filter((record) => record.after <= last),
        ...(records && { cut: true }),
      };
    const left = { count: limit - countEvents(events), bytes: limitBytes - sizeOf(events) };
    if (records || events.length === 0 || last >= page.head || left.count <= 0 || left.bytes <= 0)
      return page;
    const next = await this.read(runId, { after: last, limit: left.count, limitBytes: left.bytes });
    const more = firstOf(next.events, { limitBytes: left.bytes }, 0);
    return { ...page, events: [...events, ...more] };
  };

  readonly snapshot: LogReader["snapshot"] = async (runId) => {
    const snapshot = await this.#log.snapshot(runId);
    return snapshot && this.openSnapshot(runId, snapshot);
  };

  /** The owner of a run; of an unknown one `default`. */
  async ownerOf(runId: RunId): Promise<string> {
    const known = this.#owners.get(runId);
    if (known !== undefined) return known;
    const run = await this.#log.run(runId);
    return run === undefined ? DEFAULT_OWNER : this.note(runId, run);
  }

  /** Notes whose run it is, which never changes. */
  note(runId: RunId, run: { readonly owner?: string }): string {
    const owner = ownerOf(run);
    this.#owners.set(runId, owner);
    return owner;
  }

  /** A row as it was before it was sealed. What cannot be opened is left out, and noted. */
  async openRow(run: RunEntry, note: (thrown: unknown) => void = () => {}): Promise<RunEntry> {
    const { runId, initialInput, metadata } = run;
    const owner = this.note(runId, run);
    if (sealedIn(initialInput) === undefined && sealedIn(metadata) === undefined) return run;
    const open = (name: string, value: Json): Promise<Json | undefined> =>
      this.#ring.openJson(owner, `${name} ${runId}`, value).catch(unlessUnreadable(note));
    const [input = null, data = {}] = await Promise.all([
      open("initialInput", initialInput),
      open("metadata", metadata),
    ]);
    return { ...run, initialInput: input, metadata: data as JsonObject };
  }

  async openSnapshot(runId: RunId, snapshot: Snapshot): Promise<Snapshot> {
    if (sealedIn(snapshot.data) === undefined) return snapshot;
    const data = await this.#ring.openJson(await this.ownerOf(runId), `snapshot ${runId}`, snapshot.data);
    return { ...snapshot, data };
  }

  /** Whether a question can be shown: one of an owner without a key cannot if it is encrypted, and the others are to be listed. */
  async canShow({ runId, waitId }: WaitEntry): Promise<boolean> {
    if ((await this.#ring.newest(await this.ownerOf(runId))) !== undefined) return true;
    const { events } = await this.#log.read(runId, { after: waitId - 1, limit: 1 });
    return !hasSealed(events);
  }

  /** The engine has no words of what is encrypted: the runs of the list are looked at one by one, as many as a page may. */
  async #search(query: RunEntryQuery, searched: readonly string[]): Promise<RunEntryPage> {
    if (searched.length === 0) return { runs: [] };
    const found: RunEntry[] = [];
    let cursor = query.cursor;
    for (let looked = 0; ; looked += LOOKED_AT_ONCE) {
      if (looked >= LOOKED) return { runs: found, ...(cursor !== undefined && { next: cursor, looked }) };
      const page = await this.list({
        ...query,
        limit: LOOKED_AT_ONCE,
        ...(cursor !== undefined && { cursor }),
      });
      const fits = async (run: RunEntry): Promise<[RunEntry, boolean]> => [
        run,
        await this.#fits(run, searched),
      ];
      for await (const [run, isFound] of mapConcurrent(page.runs, READ_AT_ONCE, fits)) {
        if (!isFound) continue;
        const last = found.at(-1);
        if (found.length === query.limit && last !== undefined)
          return { runs: found, next: toListCursor(last) };
        found.push(run);
      }
      cursor = page.next;
      if (cursor === undefined) return { runs: found };
    }
  }

  async #fits(run: RunEntry, searched: readonly string[]): Promise<boolean> {
    if (hasWords(wordsOf(run, undefined), searched)) return true;
    const { runId, lastTurn } = run;
    const request = lastTurn && (await this.lookup(lastTurn.request_id, ownerOf(run)));
    if (request?.completed === undefined) return false;
    const page = await this.#readOne(runId, request.completed).catch(unlessUnreadable(() => {}));
    const event = page?.base === undefined ? page?.events[0] : undefined;
    return typeof event === "string" && hasWords(wordsOf(run, endedOutput(event)), searched);
  }

  async #readOne(runId: RunId, id: number): Promise<Page> {
    return this.read(runId, { after: id - 1, limit: 1 });
  }

  async #openPage(runId: RunId, options: ReadOptions, page: Page): Promise<Page> {
    const { events, records, base } = page;
    const isSealed = hasSealed(events) || records.some(isSealedRecord) || sealedIn(base?.data) !== undefined;
    if (!isSealed) return page;
    const owner = await this.ownerOf(runId);
    const [opened, openRecords, openBase] = await Promise.all([
      this.#openEvents(owner, runId, (base?.head ?? options.after) + 1, events),
      Promise.all(records.map((record) => this.#openRecord(owner, runId, record))),
      base && this.#ring.openJson(owner, placeOfBase(runId, base), base.data),
    ]);
    return {
      ...page,
      events: opened,
      records: openRecords,
      ...(base && { base: { ...base, data: openBase as Json } }),
    };
  }

  #openEvents(owner: string, runId: RunId, first: number, events: LoggedEvents): Promise<LoggedEvents> {
    return openEvents(events, {
      first,
      open: (id, sealed) => this.#ring.open(owner, placeOfEvent(runId, id), sealed),
      readAt: async (id) => {
        const page = await this.#log.read(runId, { after: id - 1, limit: 1 });
        return page.base !== undefined || countEvents(page.events) === 0 ? "{}" : (page.events[0] ?? "{}");
      },
    });
  }

  async #openRecord(owner: string, runId: RunId, record: LogRecord): Promise<LogRecord> {
    if (!isSealedRecord(record)) return record;
    const { n, after, type, ...sealed } = record;
    const fields = await this.#ring.openJson(owner, placeOfRecord(runId, n), sealed as JsonObject);
    return { n, after, type, ...(fields as JsonObject) };
  }
}

/** Where something is, which is part of what is encrypted: at another place it cannot be opened. */
export function placeOfEvent(runId: RunId, id: number): string {
  return `event ${runId} ${id}`;
}

export function placeOfRecord(runId: RunId, n: number): string {
  return `record ${runId} ${n}`;
}

export function placeOfBase(runId: RunId, { head }: Pick<Base, "head">): string {
  return `base ${runId} ${head}`;
}

/** Leaves out what cannot be read with the keys that there are; other errors are thrown. */
export function unlessUnreadable(note: (thrown: unknown) => void): (thrown: unknown) => undefined {
  return (thrown) => {
    if (!isUnreadable(thrown)) throw thrown;
    note(thrown);
    return undefined;
  };
}

function isSealedRecord({ n: _n, after: _after, type: _type, ...fields }: LogRecord): boolean {
  return sealedIn(fields) !== undefined;
}

/** How many runs a page of a search looks at. */
const LOOKED = 2_000;
const LOOKED_AT_ONCE = 500;
const READ_AT_ONCE = 32;

/** Of how many runs it is known whose they are. */
const RUNS_KNOWN = 100_000;
