import { join, resolve } from "node:path";
import { AgentError } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import type { NewAuditEntry } from "../../ports/audit.ts";
import type { Claim, Cursor, EventLog, Page, RemoveOptions, SeenRun } from "../../ports/event-log.ts";
import type { Batch } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { STATISTICS_HOURS, summedUntil } from "../../ports/statistics.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { Deferred } from "../../shared/deferred.ts";
import { fsArtifacts } from "../fs/artifacts.ts";
import { fsSecrets } from "../fs/secrets.ts";
import { fsVersions } from "../fs/versions.ts";
import { EventList } from "../shared/event-list.ts";
import { firstOf, sizeOf } from "../shared/page-events.ts";
import { TailCache } from "../shared/tail-cache.ts";
import { Tails } from "../shared/tails.ts";
import { encodeAudit, encodeSpent, encodeStatistics } from "../sql/changes.ts";
import { advance, Claims, startOfBatch } from "../sql/claims.ts";
import { createRunIndex } from "../sql/run-index.ts";
import { statisticsAnswers } from "../sql/statistics.ts";
import { createWordSearch, wordsChangedBy } from "../sql/word-search.ts";
import type { SqlQuery } from "../sql/query.ts";
import type { IndexProgress } from "../sql/background-indexer.ts";
import { BackgroundIndexer } from "../sql/background-indexer.ts";
import { findLostName, NAMES_AT_START } from "./directory/lost-names.ts";
import { openDirectory } from "./directory/open-directory.ts";
import type { Durability } from "./format/schema.ts";
import { ReaderClient } from "./reader/reader-client.ts";
import { QUERIES } from "./reader/reader.ts";
import { encodeAppend } from "./writer/encode-append.ts";
import type { Append, ClaimedRun } from "./writer/encode-append.ts";
import type {
  AddedEntry,
  AuditChanges,
  HourSums,
  ChunkedRun,
  RunRemoval,
  SpendingChanges,
  StatisticsChanges,
  TextChanges,
} from "./writer/message.ts";
import { WriterClient } from "./writer/writer-client.ts";

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
type SqliteLog = EventLog & Required<Pick<EventLog, "artifacts" | "secrets" | "versions">>;

/** So often, half a second apart, the words of runs wait for the event of an end. */
const INDEX_DELAYS = 10;

/**
 * Opens a log on SQLite in its own directory and creates both if needed. Fails with `DirectoryInUse` while
 * another process has it open, and with `DamagedLog` if something is missing.
 */
export function sqliteLog(
  path: string,
  {
    durability = "full",
    acceptLoss = false,
    commitIntervalMs = 0,
    cacheBytes = 16 * 1024 * 1024,
  }: SqliteLogOptions = {},
): SqliteLog {
  const directory = resolve(path);
  const { reader, head, file, unlock, ...opened } = openDirectory(directory, { acceptLoss });
  const claims = new Claims<ClaimedRun>();
  const ask = <Answer>(query: SqlQuery<Answer>): Answer => reader.ask((tables) => tables.answer(query));
  const statisticsReader = new ReaderClient(join(directory, "log.db"));
  const namesReader = new ReaderClient(join(directory, "log.db"));
  const { search, wordsOf } = createWordSearch({ queries: QUERIES, ask, read });
  const index = createRunIndex({ queries: QUERIES, claims, ask, search });
  const indexer = new BackgroundIndexer(indexTexts);
  const summer = new BackgroundIndexer(sumHours);
  // Claims of this process are above all claims of earlier openings of the log.
  let epoch = head.epoch * CLAIMS_PER_EPOCH;
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
        for (const run of claims.all) {
          claims.drop(run);
          cache.drop(run.runId);
        }
      },
    },
  );

  indexer.wake();
  summer.wake();
  if (!acceptLoss && lastRid > NAMES_AT_START) void checkNames(lastRid - NAMES_AT_START);

  /** Looks for names of older runs that are not found, and writes nothing more if there is one. */
  async function checkNames(last: number): Promise<void> {
    const fault = await findLostName(last, (query) => namesReader.ask(query));
    if (fault !== undefined) writer.refuse(fault);
    await namesReader.close();
  }

  /** The newest hour that turns or completions have ended in. */
  let newestHour = 0;

  /** How often in a row an end could not be read yet. */
  let indexDelays = 0;

  /** Writes the words of some runs that are due. */
  async function indexTexts(): Promise<IndexProgress> {
    const due = reader.ask((tables) => tables.dueTexts());
    if (due === undefined) return "done";
    const words = await wordsOf(due.runs.map(([, runId]) => runId));
    const isWhole = [...words.values()].every((made) => made.isWhole);
    // The event of an end that is never there is one of a damaged log, which keeps no others out of the index.
    if (!isWhole && (indexDelays += 1) < INDEX_DELAYS) return "later";
    indexDelays = 0;
    const texts = due.runs.flatMap(([rid, runId]) => {
      const made = words.get(runId);
      return made === undefined ? [] : [[rid, made.words] as const];
    });
    await change({ type: "texts", texts, seq: due.seq, n: due.n });
    return due.isAll ? "done" : "more";
  }

  /** Sums up the next hours of the statistics. */
  async function sumHours(): Promise<IndexProgress> {
    const { first = 0, last = 0, summed } = ask(QUERIES.statisticsPlace);
    if (summed >= summedUntil(last) && first > last - STATISTICS_HOURS) return "done";
    await change({ type: "sums" });
    return "more";
  }

  async function claim(runId: RunId): Promise<Claim> {
    do await claims.fence(runId);
    while (claims.isBarred(runId));
    const owned = claims.get(runId);
    const found = reader.ask((tables) => {
      const stored = tables.checked(runId);
      return (
        stored && { stored, entry: tables.answer(QUERIES.run(runId)), snapshot: tables.snapshot(stored.rid) }
      );
    });
    const { rid, removed, records, ...stored } = found?.stored ?? NEW_RUN;
    const head = owned?.head ?? stored.head;
    cache.drop(runId);
    epoch += 1;
    claims.take({
      runId,
      rid,
      epoch,
      isHeld: true,
      head,
      records,
      removed,
      leaving: false,
      stored: found !== undefined,
      pending: undefined,
      row: found?.entry ?? {},
      recent: owned?.recent ?? new EventList(head),
      recentBytes: owned?.recentBytes ?? 0,
      requests: new Set(),
    });
    return {
      cursor: { runId, epoch, head, records },
      ...(found?.entry && { run: { ...found.entry, head } }),
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
      for (const { hour } of batch.statistics ?? []) {
        if (hour <= newestHour) continue;
        newestHour = hour;
        summer.wake();
      }
      if (startOfBatch(run, batch).head > run.head) forgetRecent(run, batch.base?.head);
      advance(run, batch);
      for (const { requestId, phase } of batch.requests ?? []) {
        if (phase === "completed") run.requests.delete(requestId);
        else run.requests.add(requestId);
      }
      keep(run, batch.events, encoded);
      // It has what is before the base.
      if (batch.base) cache.drop(run.runId);
      if (batch.alias?.from !== undefined) appended.push(batch.alias.from);
      indexer.wake(wordsChangedBy(batch));
      return { runId: run.runId, epoch: cursor.epoch, head: run.head, records: run.records };
    });
  }

  async function remove(cursor: Cursor, { erases = false }: RemoveOptions = {}): Promise<readonly string[]> {
    const run = writable(cursor);
    if (!run.stored || run.removed) {
      release(cursor);
      return [];
    }
    run.leaving = true;
    const references = reader.ask((tables) => tables.answer(QUERIES.references(run.runId)));
    await commit(run, { type: "removal", rid: run.rid, erases }, () => {
      run.isHeld = false;
      forgetRecent(run);
    });
    return index.unreferenced(references);
  }

  async function removeIdle(seen: readonly SeenRun[]): Promise<readonly RunId[]> {
    const { writable, reason } = health();
    if (!writable) throw new Unavailable(reason);
    const removed = await Promise.all(seen.map(removeUnclaimed));
    return removed.filter((runId) => runId !== undefined);
  }

  /** Removes a run if the writer finds it idle; it is not claimed meanwhile. */
  async function removeUnclaimed({ runId, head, updatedAt }: SeenRun): Promise<RunId | undefined> {
    if (claims.get(runId) !== undefined || claims.isBarred(runId)) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<RunId | undefined>();
    const admit = claims.bar(runId);
    writer.post({
      work: { type: "removal", seen: [runId, head, updatedAt] },
      settle(error) {
        admit();
        if (error === undefined) {
          appended.push(runId);
          resolve(runId);
        } else if (error instanceof AgentError) resolve(undefined);
        else reject(error);
      },
    });
    return promise;
  }

  /** Keeps committed events for readers: recent ones with the run, because no chunk has them, and others in the cache. */
  function keep(run: ClaimedRun, events: LoggedEvents, { isRecent, bytes }: Append): void {
    run.recent.add(events);
    run.recentBytes += bytes;
    if (!isRecent) cacheRecent(run);
  }

  /** Moves the recent events of a run, which are in chunks now, to the cache. */
  function cacheRecent(run: ClaimedRun): void {
    const { runId, recent, recentBytes } = run;
    if (!recent.isEmpty) cache.add(runId, recent.after + 1, recent.all, recentBytes);
    forgetRecent(run);
  }

  /** Moves recent events, which are in chunks now, to the cache. */
  function onChunked(chunked: readonly ChunkedRun[]): void {
    const ends = new Map(chunked);
    for (const run of claims.all) {
      if (run.recent.isEmpty || ends.get(run.rid) !== run.head) continue;
      cacheRecent(run);
      settle(run);
    }
  }

  function release(cursor: Cursor): void {
    const run = claims.release(cursor);
    if (run !== undefined) settle(run);
  }

  /** Forgets a run without an owner, unless an append is still running or not all of its events are in chunks. */
  function settle(run: ClaimedRun): void {
    if (run.isHeld || run.pending !== undefined || !run.recent.isEmpty) return;
    if (claims.drop(run)) cache.drop(run.runId);
  }

  function writable(cursor: Cursor): ClaimedRun {
    const { writable, reason } = health();
    if (!writable) throw new Unavailable(reason);
    return claims.owned(cursor);
  }

  /** Commits an append or the removal of a run, then applies its effects in memory, before any reader is woken. */
  function commit<Result>(run: ClaimedRun, work: Append | RunRemoval, done: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const pending = new Deferred<void>();
    run.pending = pending;
    const settled = (error?: Error): void => {
      run.pending = undefined;
      if (error === undefined) {
        resolve(done());
        appended.push(run.runId);
      } else {
        reject(error);
      }
      settle(run);
      pending.resolve();
    };
    writer.post("type" in work ? { work, settle: settled } : { rid: run.rid, append: work, settle: settled });
    return promise;
  }

  /** Commits changes of the audit trail, of what was spent, of the statistics and their sums, or of the words of runs. */
  function change(
    work: AuditChanges | SpendingChanges | StatisticsChanges | HourSums | TextChanges,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { writable, reason } = health();
    if (!writable) return rejected(new Unavailable(reason));
    writer.post({
      work,
      settle: (error) => (error === undefined ? resolve() : reject(error)),
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

  function health() {
    return closing === undefined ? writer.health : CLOSED;
  }

  async function close(): Promise<void> {
    await Promise.all([indexer.close(), summer.close(), statisticsReader.close(), namesReader.close()]);
    await writer.close();
    reader.close();
    unlock();
  }

  return {
    ...index,
    durability,
    reliableTail: true,
    sharesRows: true,
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
    async open(query) {
      // The requests that are continued would wait for the writer, and so would the first request after a start.
      await writer.started;
      return index.open(query);
    },
    async size(runId) {
      const recentBytes = runId === undefined ? 0 : (claims.get(runId)?.recentBytes ?? 0);
      return reader.ask((tables) => tables.size(runId)) + recentBytes;
    },
    snapshot: async (runId) =>
      reader.ask((tables) => {
        const run = tables.checked(runId);
        return run && tables.snapshot(run.rid);
      }),
    remove,
    removeIdle,
    spending: {
      on: async (key) => reader.ask((tables) => tables.answer(QUERIES.spentOn(key))),
      list: async (query) => reader.ask((tables) => tables.answer(QUERIES.spent(query))),
      async put(entries) {
        if (entries.length > 0) await change({ type: "spending", put: entries.map(encodeSpent) });
      },
      remove: (removed) => change({ type: "spending", removed }),
    },
    statistics: {
      ...statisticsAnswers(QUERIES, (query) => statisticsReader.ask(query)),
      async put(entries) {
        if (entries.length === 0) return;
        await change({ type: "statistics", put: entries.map(encodeStatistics) });
        summer.wake();
      },
      remove: (removed) => change({ type: "statistics", removed }),
    },
    audit: {
      async add(entries) {
        if (entries.length > 0) await change({ type: "audit", added: entries.map(toAdded) });
      },
      list: async (query) => reader.ask((tables) => tables.answer(QUERIES.audit(query))),
      remove: (removed) => change({ type: "audit", removed }),
    },
    scrub: () => writer.scrub(),
    async indexed() {
      await Promise.all([indexer.settle(), summer.settle()]);
    },
    health,
    artifacts: () => fsArtifacts(join(directory, "artifacts")),
    secrets: () => fsSecrets(join(directory, "secrets.json")),
    versions: () => fsVersions(join(directory, "versions")),
    close: () => (closing ??= close()),
  };
}

/** Adds the recent events of a run to a page that ends where they begin. */
export function addRecent(
  page: Page,
  { recent, head }: Pick<ClaimedRun, "head" | "recent">,
  options: ReadOptions,
): Page {
  const { limit = Infinity, limitBytes = Infinity } = options;
  const after = page.base?.head ?? options.after;
  const count = countEvents(page.events);
  if (recent.isEmpty) return page;
  if (page.cut === true || after + count < recent.after) return { ...page, head };
  const room = limitBytes === Infinity ? Infinity : limitBytes - sizeOf(page.events);
  const next = recent.read({ after: after + count, limit: limit - count });
  const more = firstOf(next, { limitBytes: room }, count === 0 ? 1 : 0);
  return { ...page, events: [...page.events, ...more], head };
}

function forgetRecent(run: ClaimedRun, head: number = run.head): void {
  run.recent = new EventList(head);
  run.recentBytes = 0;
}

function toAdded({ owner, runId, count = 1, ...mark }: NewAuditEntry): AddedEntry {
  return [...encodeAudit(mark), owner, runId ?? null, count];
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

const NEW_RUN = { rid: 0, removed: false, head: 0, records: 0 };

const CLOSED = { writable: false, reason: "the log is closed" };

/** More claims than one process makes, and small enough that all epochs stay exact integers. */
const CLAIMS_PER_EPOCH = 2 ** 32;
