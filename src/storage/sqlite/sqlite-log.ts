import { join } from "node:path";
import { AgentError } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import type { Claim, Cursor, EventLog, Page } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { Batch } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { fsArtifacts } from "../fs/artifacts.ts";
import { fsSecrets } from "../fs/secrets.ts";
import { Tails } from "../shared/tails.ts";
import { EventList } from "../shared/event-list.ts";
import { firstOf, sizeOf } from "../shared/page-events.ts";
import { advance, Claims, PendingCommit, valuesOf } from "./writer/claims.ts";
import type { OwnedRun } from "./writer/claims.ts";
import { encodeAppend } from "./writer/encode-append.ts";
import type { Append } from "./writer/encode-append.ts";
import type { Chunked } from "./writer/message.ts";
import { openDirectory } from "./directory/open-directory.ts";
import { TailCache } from "../shared/tail-cache.ts";
import { WriterClient } from "./writer/writer-client.ts";
import type { Durability } from "./format/schema.ts";

/** What `sqliteLog` takes. */
export interface SqliteLogOptions {
  /**
   * `full`, the default, syncs every commit to the disk before it is acknowledged. `relaxed` lets the system
   * sync later: a crash of the process loses nothing, a power failure can lose the last seconds.
   */
  readonly durability?: Durability;
  /** Opens a log that has lost acknowledged data, with the data that is left. Default false. */
  readonly acceptLoss?: boolean;
  /**
   * The minimum time between two commits. A higher value makes larger commits and delays each event. Default
   * 0.
   */
  readonly commitIntervalMs?: number;
  /** The memory for the newest events of all runs, for live readers. Default 16 MiB. */
  readonly cacheBytes?: number;
}

/** A log on SQLite, for one process. */
type SqliteLog = EventLog & Required<Pick<EventLog, "artifacts" | "secrets">>;

/**
 * Opens a log on SQLite in its own directory and creates both if needed. Fails with `DirectoryInUse` while
 * another process has it open, and with `DamagedLog` if something is missing.
 */
export function sqliteLog(
  directory: string,
  {
    durability = "full",
    acceptLoss = false,
    commitIntervalMs = 0,
    cacheBytes = 16 * 1024 * 1024,
  }: SqliteLogOptions = {},
): SqliteLog {
  const { reader, head, file, unlock, ...opened } = openDirectory(directory, { acceptLoss });
  const claims = new Claims(head.epoch);
  const cache = new TailCache(cacheBytes);
  const tails = new Tails();
  let { lastRid } = opened;
  let closing: Promise<void> | undefined;
  let appended: RunId[] = [];

  const writer = new WriterClient(
    { directory, durability, head, file },
    {
      commitIntervalMs,
      onCommitted() {
        const runIds = appended;
        appended = [];
        for (const runId of runIds) tails.wake(runId);
      },
      onChunked,
      onRecovered() {
        for (const runId of claims.clear()) cache.drop(runId);
      },
    },
  );

  async function claim(runId: RunId): Promise<Claim> {
    await claims.fence(runId);
    const owned = claims.get(runId);
    const found = reader.ask((tables) => {
      const stored = tables.checked(runId);
      return stored && { stored, entry: tables.run(runId), snapshot: tables.snapshot(stored.rid) };
    });
    const { rid, removed, records, ...stored } = found?.stored ?? NEW_RUN;
    const head = owned?.head ?? stored.head;
    cache.drop(runId);
    const { epoch } = claims.take({
      runId,
      rid,
      head,
      records,
      removed,
      leaving: false,
      stored: found !== undefined,
      pending: undefined,
      ...(found?.entry && valuesOf(found.entry)),
      recent: owned?.recent ?? new EventList(head),
      recentBytes: owned?.recentBytes ?? 0,
      requests: new Set(),
    });
    return {
      cursor: { runId, epoch, head, records },
      ...(found?.entry && { run: acknowledged(found.entry) }),
      ...(found?.snapshot && { snapshot: found.snapshot }),
    };
  }

  function append(cursor: Cursor, batch: Batch): Promise<Cursor> {
    const run = writable(cursor);
    if (run.removed) throw new AgentError("gone", `run ${run.runId} was removed`);
    if (!run.stored && batch.run === undefined) {
      throw new TypeError("the first batch of a run needs its row");
    }
    if (run.rid === 0) {
      lastRid += 1;
      run.rid = lastRid;
    }
    const encoded = encodeAppend(run, batch);
    return commit(run, encoded, () => {
      advance(run, batch);
      keep(run, batch.events, encoded);
      if (batch.alias?.from !== undefined) appended.push(batch.alias.from);
      return { runId: run.runId, epoch: cursor.epoch, head: run.head, records: run.records };
    });
  }

  async function remove(cursor: Cursor): Promise<readonly string[]> {
    const run = writable(cursor);
    if (!run.stored || run.removed) {
      release(cursor);
      return [];
    }
    run.leaving = true;
    const { references } = reader.ask((tables) => tables.holdings(run.runId));
    await commit(run, undefined, () => {
      run.epoch = 0;
      forgetRecent(run);
    });
    return unreferenced(references);
  }

  /** Keeps committed events for readers: recent ones with the run, because no chunk has them, and others in the cache. */
  function keep(run: OwnedRun, events: LoggedEvents, { isRecent, bytes }: Append): void {
    run.recent.add(events);
    run.recentBytes += bytes;
    if (!isRecent) cacheRecent(run);
  }

  /** Moves the recent events of a run, which are in chunks now, to the cache. */
  function cacheRecent(run: OwnedRun): void {
    const { runId, recent, recentBytes } = run;
    if (!recent.isEmpty) cache.add(runId, recent.after + 1, recent.all, recentBytes);
    forgetRecent(run);
  }

  /** Moves recent events, which are in chunks now, to the cache. */
  function onChunked(chunked: readonly Chunked[]): void {
    const ends = new Map(chunked);
    for (const run of claims.withRecent()) {
      if (ends.get(run.rid) !== run.head) continue;
      cacheRecent(run);
      if (claims.settle(run)) cache.drop(run.runId);
    }
  }

  function unreferenced(things: readonly string[]): readonly string[] {
    return reader.ask((tables) => things.filter((thing) => !tables.isReferenced(thing)));
  }

  function release(cursor: Cursor): void {
    if (claims.release(cursor)) cache.drop(cursor.runId);
  }

  function writable(cursor: Cursor): OwnedRun {
    const { writable, reason } = health();
    if (!writable) throw new Unavailable(reason);
    return claims.owned(cursor);
  }

  /** Commits an append, or without one the removal of a run, then applies its effects in memory, before any reader is woken. */
  function commit<Result>(run: OwnedRun, append: Append | undefined, done: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const pending = new PendingCommit();
    run.pending = pending;
    writer.post({
      rid: run.rid,
      append,
      settle(error) {
        run.pending = undefined;
        if (error === undefined) {
          resolve(done());
          appended.push(run.runId);
        } else {
          reject(error);
        }
        if (claims.settle(run)) cache.drop(run.runId);
        pending.end();
      },
    });
    return promise;
  }

  function read(runId: RunId, options: ReadOptions): Page | Promise<Page> {
    const run = claims.get(runId);
    const { records = false, after } = options;
    if (run !== undefined && !records) {
      const { recent, head } = run;
      if (after >= head) return { events: [], records: [], head };
      if (after >= recent.after) return { events: recent.read(options), records: [], head };
      const events = cache.read(runId, options);
      if (events !== undefined) return addRecent({ events, records: [], head }, run, options);
    }
    return readStored(runId, options);
  }

  async function readStored(runId: RunId, options: ReadOptions): Promise<Page> {
    const run = claims.get(runId);
    if (run === undefined || run.removed || run.leaving) {
      return reader.ask((tables) => tables.page(runId, options));
    }
    const page = reader.ask((tables) =>
      tables.pageOf({ runId, rid: run.rid, head: run.recent.after }, options),
    );
    return addRecent(page, run, options);
  }

  /**
   * Resolves when every commit of a run is acknowledged, so that a query after it returns only what `read`
   * returns. The owner may append again before that, but such a commit is sent only in a later turn of the event
   * loop; waiting for it too might never end.
   */
  async function settled(runId: RunId): Promise<void> {
    await claims.get(runId)?.pending?.ended;
  }

  /** The row of a run with the number of acknowledged events, to agree with `read`. */
  function acknowledged(entry: RunEntry): RunEntry {
    const head = claims.get(entry.runId)?.head ?? entry.head;
    return head === entry.head || entry.removed === true ? entry : { ...entry, head };
  }

  function health() {
    return closing === undefined ? writer.health : CLOSED;
  }

  async function close(): Promise<void> {
    await writer.close();
    reader.close();
    unlock();
  }

  return {
    durability,
    reliableTail: true,
    claim,
    append(cursor, batch) {
      try {
        return append(cursor, batch);
      } catch (error) {
        return rejected(error);
      }
    },
    release,
    read,
    tail: (runId, wake) => tails.add(runId, wake),
    watch: (wake) => tails.addToAll(wake),
    async lookup(requestId) {
      const entry = reader.ask((tables) => tables.lookup(requestId));
      if (entry === undefined || claims.get(entry.runId)?.pending === undefined) return entry;
      await settled(entry.runId);
      return reader.ask((tables) => tables.lookup(requestId));
    },
    async requests(query) {
      await settled(query.runId);
      return reader.ask((tables) => tables.requests(query));
    },
    async run(runId) {
      await settled(runId);
      const entry = reader.ask((tables) => tables.run(runId));
      return entry && acknowledged(entry);
    },
    find: async (alias) => reader.ask((tables) => tables.find(alias)),
    async list(query) {
      const page = reader.ask((tables) => tables.list(query));
      return { ...page, runs: page.runs.map(acknowledged) };
    },
    runIds: async (query) => reader.ask((tables) => tables.runIds(query)),
    async holdings(runId) {
      await settled(runId);
      return reader.ask((tables) => tables.holdings(runId));
    },
    size: async (runId) => {
      const recentBytes = runId === undefined ? 0 : (claims.get(runId)?.recentBytes ?? 0);
      return reader.ask((tables) => tables.size(runId)) + recentBytes;
    },
    async open() {
      // The requests that are continued would wait for the writer, and so would the first request after a start.
      await writer.started;
      return reader.ask((tables) => tables.open());
    },
    asleep: async (query) => reader.ask((tables) => tables.asleep(query)),
    resting: async (query) => reader.ask((tables) => tables.resting(query)),
    async waits(query) {
      if (query.runId !== undefined) await settled(query.runId);
      return reader.ask((tables) => tables.waits(query));
    },
    async outbox(query) {
      if (query.runId !== undefined) await settled(query.runId);
      return reader.ask((tables) => tables.outbox(query));
    },
    snapshot: async (runId) =>
      reader.ask((tables) => {
        const run = tables.checked(runId);
        return run && tables.snapshot(run.rid);
      }),
    unreferenced: async (things) => unreferenced(things),
    remove,
    health,
    artifacts: () => fsArtifacts(join(directory, "artifacts")),
    secrets: () => fsSecrets(join(directory, "secrets.json")),
    close: () => (closing ??= close()),
  };
}

/** Adds the recent events of a run to a page that ends where they begin. */
function addRecent(page: Page, { recent, head }: OwnedRun, options: ReadOptions): Page {
  const { after, limit = Infinity, limitBytes = Infinity } = options;
  const count = countEvents(page.events);
  if (recent.isEmpty) return page;
  if (page.cut === true || after + count < recent.after) return { ...page, head };
  const room = limitBytes === Infinity ? Infinity : limitBytes - sizeOf(page.events);
  const next = recent.read({ after: after + count, limit: limit - count });
  const more = firstOf(next, { limitBytes: room }, count === 0 ? 1 : 0);
  return { ...page, events: [...page.events, ...more], head };
}

function forgetRecent(run: OwnedRun): void {
  run.recent = new EventList(run.head);
  run.recentBytes = 0;
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

const NEW_RUN = { rid: 0, removed: false, head: 0, records: 0 };

const CLOSED = { writable: false, reason: "the log is closed" };
