import type { DatabaseSync } from "node:sqlite";
import { toChecksum, toHash } from "../format/chain.ts";
import type { ChunkPosition } from "../format/chain.ts";
import { toTrouble } from "../format/errors.ts";
import type { Head, HeadFile } from "../format/head-file.ts";
import { BUSY_MS } from "../format/schema.ts";
import { AUDIT_ACTIONS } from "../../../ports/audit.ts";
import type { RemovedEntries } from "../../../ports/audit.ts";
import { DEFAULT_OWNER } from "../../../ports/principal.ts";
import { agentsOf } from "../../shared/owned-keys.ts";
import type {
  AuditChanges,
  ChunkedRun,
  FromWriter,
  AppendItem,
  RefusedItem,
  RunRemovals,
  SpendingChanges,
  StatisticsChanges,
  TextChanges,
} from "./message.ts";
import type { Leftovers } from "./leftovers.ts";
import { NO_COLUMNS, RecentEvents } from "./recent-events.ts";
import type { PendingChunk, RecentColumns, RecentParts } from "./recent-events.ts";
import { applyChanges, createStatements } from "./statements.ts";
import type { Statements } from "./statements.ts";
import { StatisticSums } from "./statistic-sums.ts";

/** Commits transactions and updates the head file. */
export class DiskWriter {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #headFile: HeadFile;
  readonly #writeEveryHead: boolean;
  /** How the database syncs commits, as it is given. */
  readonly #synchronous: number;
  readonly #leftovers: Leftovers | undefined;
  #head: Head;
  readonly #recent: RecentEvents;
  readonly #sums: StatisticSums;
  /** The recent events as of the newest transaction. */
  #range: string | null = null;
  #refused: RefusedItem[] = [];
  #chunked: ChunkedRun[] = [];
  /** How many removals the running transaction has no time for. */
  #left = 0;
  #firstChunk: number | bigint | null = null;
  #checksums: number[] = [];
  /** The small appends of the running transaction. */
  #small: RecentColumns = NO_COLUMNS;
  /** The failure because of which nothing more is committed. */
  #trouble: FromWriter | undefined;

  /** Only one with `leftovers` can scrub. */
  constructor(
    database: DatabaseSync,
    headFile: HeadFile,
    head: Head,
    { writeEveryHead, leftovers }: { readonly writeEveryHead: boolean; readonly leftovers?: Leftovers },
  ) {
    this.#database = database;
    this.#synchronous = Number(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
    this.#leftovers = leftovers;
    this.#statements = createStatements(database);
    this.#recent = new RecentEvents(database);
    this.#sums = new StatisticSums(database);
    this.#headFile = headFile;
    this.#head = head;
    this.#writeEveryHead = writeEveryHead;
  }

  /** The newest transaction. */
  get head(): Head {
    return this.#head;
  }

  /** Commits appends; leaves out those that conflict with stored data. */
  commit(recent: RecentParts, items: readonly AppendItem[], bodies: Uint8Array): FromWriter {
    const batch = this.#head.batch + 1;
    const isRow = items.length === 0 && !this.#recent.isDue(batch) && batch % FORGET_EVERY !== 0;
    return this.#transact(() => {
      this.#small = this.#recent.add(recent, bodies, batch);
      if (isRow) return;
      let at = recent.bytes;
      for (const [index, item] of items.entries()) {
        const body = bodies.subarray(at, at + item[4]);
        at += item[4];
        const clash = this.#findClash(item);
        if (clash !== undefined) this.#refused.push([index, clash]);
        else this.#apply(item, body);
      }
      for (const gathered of this.#recent.takeOld(batch)) this.#addGathered(gathered);
      this.#recent.trim(batch);
    }, isRow);
  }

  /** Whether there are recent events to move. */
  get hasRecent(): boolean {
    return this.#trouble === undefined && this.#recent.exist;
  }

  /** Moves all recent events into chunks. `recent` is given at the start: the events that another process left. */
  moveRecent(recent?: string): FromWriter {
    if (recent !== undefined) {
      this.#range = recent;
      this.#recent.load(recent);
    }
    const reply = this.#transact(() => this.#chunkAll());
    if (reply.type === "failed") this.#trouble = reply;
    return reply;
  }

  /** Commits the removal of runs, as many as there is time for; `purge` deletes their chunks later. */
  remove({ runs }: RunRemovals): FromWriter {
    const { findIdle, findText, removeText, dropWords, removeAuditOf } = this.#statements;
    return this.#transact(() => {
      const endMs = performance.now() + REMOVALS.withinMs;
      const texts: (readonly [rid: number, words: string])[] = [];
      for (const [index, removal] of runs.entries()) {
        if (index >= REMOVALS.least && performance.now() >= endMs) {
          this.#left = runs.length - index;
          break;
        }
        const isSeen = removal.seen !== undefined;
        const rid = isSeen ? findIdle.get(...removal.seen)?.["rid"] : removal.rid;
        if (typeof rid !== "number") {
          this.#refused.push([index, "the run is not idle"]);
          continue;
        }
        this.#recent.take(rid);
        const words = findText.get(rid)?.["words"];
        if (typeof words === "string") texts.push([rid, words]);
        removeText.run(rid);
        for (const name of isSeen ? REMOVED_IF_IDLE : REMOVED) this.#statements[name].run(rid);
        if (!isSeen && removal.erases) removeAuditOf.run(rid);
      }
      // After all else: the index writes what it was told before a statement that changes several rows.
      for (const text of texts) dropWords.run(...text);
    });
  }

  /** Commits changes of the audit trail that no append makes. */
  changeAudit({ added = [], removed }: AuditChanges): FromWriter {
    return this.#transact(() => {
      for (const entry of added) this.#statements.addAuditEntry.run(...entry);
      if (removed !== undefined) this.#removeAudit(removed);
    });
  }

  /** Commits changes of what was spent that no append makes. */
  changeSpending({ put = [], removed }: SpendingChanges): FromWriter {
    return this.#transact(() => {
      for (const entry of put) this.#statements.setSpent.run(...entry);
      if (removed !== undefined) this.#statements.removeSpent.run(removed, ...agentsOf(removed));
    });
  }

  /** Commits changes of the statistics that no append makes. */
  changeStatistics({ put = [], removed }: StatisticsChanges): FromWriter {
    return this.#transact(() => {
      for (const entry of put) this.#statements.setStatistic.run(...entry);
      this.#sums.changed(put);
      if (removed !== undefined) this.#sums.removeOwner(removed);
    });
  }

  /** Commits the words of runs. */
  changeTexts({ texts, seq, n }: TextChanges): FromWriter {
    const { findLive, moveTextPlace, removeDueTexts } = this.#statements;
    return this.#derive(() => {
      for (const [rid, words] of texts) this.#setText(rid, findLive.get(rid) === undefined ? "" : words);
      moveTextPlace.run(seq);
      removeDueTexts.run(n);
    });
  }

  /** Commits the sums of the next hours of the statistics. */
  sumHours(): FromWriter {
    return this.#derive(() => this.#sums.next());
  }

  /** Commits what is made of other rows. What fails is tried again later, as nothing waits for it. */
  #derive(change: () => void): FromWriter {
    if (this.#trouble !== undefined) return TRY_AGAIN;
    try {
      this.#transactUnsynced(change);
      return { type: "committed" };
    } catch {
      this.#sums.load();
      return TRY_AGAIN;
    }
  }

  /**
   * Makes a change and commits it without a sync: if a power failure loses it, it is made again. The next commit that is acknowledged
   * syncs this one as well.
   */
  #transactUnsynced<Result>(change: () => Result): Result {
    const { begin, commit } = this.#statements;
    this.#database.exec("PRAGMA synchronous = NORMAL");
    try {
      begin.run();
      const result = change();
      commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    } finally {
      this.#database.exec(`PRAGMA synchronous = ${this.#synchronous}`);
    }
  }

  #setText(rid: number, words: string): void {
    const { findText, setText, removeText, addWords, dropWords } = this.#statements;
    const before = (findText.get(rid)?.["words"] ?? "") as string;
    if (before === words) return;
    if (before !== "") dropWords.run(rid, before);
    if (words === "") removeText.run(rid);
    else {
      setText.run(rid, words);
      addWords.run(rid, words);
    }
  }

  /** Removes from the index of words what was deleted, in steps. */
  *#mergeWords(): Generator<void, void> {
    const { beginMerge, merge, countChanges } = this.#statements;
    const changes = (): number => Number(countChanges.get()?.["changes"]);
    for (let step = beginMerge; ; step = merge) {
      const before = changes();
      step.run();
      if (changes() - before < 2) return;
      yield;
    }
  }

  #removeAudit(which: RemovedEntries): void {
    const { removeAuditOwner, removeAuditDefault, removeAuditBefore, removeAuditOldest } = this.#statements;
    if ("before" in which) removeAuditBefore.run(which.before);
    else if ("action" in which)
      removeAuditOldest.run(AUDIT_ACTIONS.indexOf(which.action), which.allButNewest);
    else if (which.owner === DEFAULT_OWNER) removeAuditDefault.run();
    else removeAuditOwner.run(which.owner);
  }

  /** Tests whether the disk accepts writes. Afterwards all events are in chunks. */
  probe(): FromWriter {
    return this.#transact(() => this.#chunkAll());
  }

  /** Deletes some chunks of removed runs, as many as there is time for. Returns whether there may be more to delete. */
  purge(): boolean {
    const { findRemoved, purgeChunks, endPurge, limitTextPlace } = this.#statements;
    return this.#transactUnsynced(() => {
      const endMs = performance.now() + REMOVALS.withinMs;
      let rid = findRemoved.get()?.["rid"];
      while (rid !== undefined) {
        const { changes } = purgeChunks.run(rid, PURGE_CHUNKS);
        if (Number(changes) < PURGE_CHUNKS) endPurge.run(rid);
        if (performance.now() >= endMs) break;
        rid = findRemoved.get()?.["rid"];
      }
      limitTextPlace.run();
      return rid !== undefined;
    });
  }

  /**
   * Moves the write-ahead log into the database; then the head file survives a power failure too. A failure
   * loses no data, but the log would grow without limit, so nothing more is committed.
   */
  checkpoint(): void {
    // After a failed sync the next one can seem to succeed although the data was lost.
    if (this.#trouble !== undefined && !isFull(this.#trouble)) return;
    try {
      this.#leftovers?.gather();
      const { busy, log, checkpointed } = this.#checkpointShortly();
      this.#leftovers?.moved(Number(checkpointed));
      this.#trouble = undefined;
      // A reader may hold back a part, or the mover may have moved all pages, which need not be synced then.
      if (busy !== 0 || log !== checkpointed) return;
      this.#headFile.write(this.#head);
      this.#headFile.sync();
    } catch (error) {
      this.#trouble = toFailure("a checkpoint", error);
    }
  }

  /** Moves the write-ahead log into the database. Commits wait meanwhile, so it waits for readers for a short time. */
  #checkpointShortly(): Readonly<Record<string, unknown>> {
    this.#database.exec(`PRAGMA busy_timeout = ${READERS_MS}`);
    try {
      return this.#statements.checkpoint.get() ?? {};
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  /**
   * Overwrites what removed runs have left, in steps between which other work is possible; throws if it cannot. The recent events
   * must have been moved before. `settleMover` keeps the mover from moving pages at the same time.
   */
  *scrub(settleMover: () => void): Generator<void, void> {
    if (this.#trouble?.type === "failed") throw new Error(this.#trouble.reason);
    while (this.purge()) yield;
    yield* this.#mergeWords();
    for (let tries = 1; ; tries += 1) {
      settleMover();
      if (this.#truncate()) break;
      if (tries === TRUNCATE_TRIES)
        throw new Error("another connection has been reading the log for too long");
      yield;
    }
    // Before the next commit, which could write a page as it was in the cache.
    this.#leftovers?.wipeAll();
    this.#database.exec("PRAGMA shrink_memory");
  }

  /** Moves the write-ahead log into the database and empties its file; returns whether that was possible. */
  #truncate(): boolean {
    this.#leftovers?.gather();
    const { busy, checkpointed } = this.#statements.truncate.get() ?? {};
    this.#leftovers?.moved(Number(checkpointed));
    if (busy !== 0) return false;
    this.#headFile.write(this.#head);
    this.#headFile.sync();
    return true;
  }

  /** Makes a change and adds the row of its transaction. One that is this row alone needs no further statements. */
  #transact(change: () => void, isRow = false): FromWriter {
    // There may be space again.
    if (isFull(this.#trouble)) this.checkpoint();
    if (this.#trouble !== undefined) return this.#trouble;
    const { begin, addBatch, forgetBatches, commit } = this.#statements;
    this.#refused = [];
    this.#chunked = [];
    this.#left = 0;
    this.#firstChunk = null;
    this.#checksums = [];
    this.#small = NO_COLUMNS;
    try {
      if (!isRow) begin.run();
      change();
      const batch = this.#head.batch + 1;
      const { range } = this.#recent;
      const hash = toHash(this.#head.hash, batch, this.#checksums, range);
      // The number of the transaction is unique: if another process wrote to the directory, this fails.
      addBatch.run(batch, this.#head.epoch, hash, this.#firstChunk, range, ...this.#small);
      if (batch % FORGET_EVERY === 0) forgetBatches.run(batch - KEPT_BATCHES);
      if (!isRow) commit.run();
      this.#range = range;
      this.#head = { epoch: this.#head.epoch, batch, hash };
      if (this.#writeEveryHead) this.#headFile.write(this.#head);
    } catch (error) {
      return this.#fail(error);
    }
    return {
      type: "committed",
      ...(this.#refused.length > 0 && { refused: this.#refused }),
      ...(this.#chunked.length > 0 && { chunked: this.#chunked }),
      ...(this.#left > 0 && { left: this.#left }),
    };
  }

  /** Finds a conflict of an item before its first change, so that nothing must be rolled back. */
  #findClash([rid, , , , , , changes]: AppendItem): string | undefined {
    if (changes === null) return undefined;
    const { findAlias, findRequest } = this.#statements;
    if (changes.alias !== undefined) {
      const [agent, name, from] = changes.alias;
      const holder = findAlias.get(agent, name);
      if (holder?.["rid"] !== rid && (holder?.["run_id"] ?? null) !== from)
        return `${from === null ? "another run has" : `run ${from} does not have`} the alias ${name}`;
    }
    for (const [index, [requestId]] of (changes.requests ?? []).entries()) {
      if (changes.known?.[index] === true) continue;
      const other = findRequest.get(requestId)?.["rid"];
      if (other !== undefined && other !== rid) return `request ${requestId} belongs to another run`;
    }
    return undefined;
  }

  /** Writes an append as a chunk, together with the run's recent events. */
  #apply([rid, first, last, recordsEnd, , records, changes]: AppendItem, body: Uint8Array): void {
    if (changes !== null) {
      applyChanges(this.#statements, { rid, first: last, last, records: recordsEnd }, changes);
      if (changes.statistics !== undefined) this.#sums.changed(changes.statistics);
    }
    // Its words are due, which otherwise its chunk says.
    if ((changes?.run ?? changes?.base) !== undefined && body.length === 0 && records === null)
      this.#statements.addDueText.run(rid);
    const recent = this.#recent.take(rid);
    // What is before a base that the run has not reached is not needed.
    if (recent === undefined || recent.last + 1 < first)
      this.#addChunk({ rid, first, last, records: recordsEnd }, body, records);
    else {
      const position = { rid, first: recent.first, last, records: recordsEnd };
      this.#addChunk(position, joinBodies(recent.body, body), records);
    }
  }

  #chunkAll(): void {
    for (const gathered of this.#recent.takeAll()) this.#addGathered(gathered);
    this.#recent.trim(this.#head.batch + 1, 1);
  }

  #addGathered({ rid, first, last, recordsEnd, body }: PendingChunk): void {
    this.#addChunk({ rid, first, last, records: recordsEnd }, joinBodies(body, NOTHING), null);
    this.#chunked.push([rid, last]);
  }

  #addChunk(position: ChunkPosition, body: Uint8Array, records: string | null): void {
    if (body.length === 0 && records === null) return;
    const { addChunk } = this.#statements;
    const { rid, first, last, records: recordsEnd } = position;
    const checksum = toChecksum(position, body, records);
    const { lastInsertRowid } = addChunk.run(rid, first, last, recordsEnd, checksum, body, records);
    this.#firstChunk ??= lastInsertRowid;
    this.#checksums.push(checksum);
  }

  #fail(error: unknown): FromWriter {
    const own = toFailure("a commit", error);
    const failure = this.#rollBack() || !isFull(own) ? own : DAMAGED;
    if (!isFull(failure)) this.#trouble = failure;
    return failure;
  }

  /** Returns whether the recent events are those of the newest transaction again. */
  #rollBack(): boolean {
    try {
      // Without an open transaction it is lost already, which has the same effect.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#sums.load();
      return this.#recent.load(this.#range);
    } catch {
      return false;
    }
  }
}

/** Joins recent events, which end with a line break, and the events of an append. */
function joinBodies(recent: Buffer, body: Uint8Array): Uint8Array {
  return body.length > 0 ? Buffer.concat([recent, body]) : recent.subarray(0, -1);
}

function toFailure(what: string, error: unknown): FromWriter {
  switch (toTrouble(error)) {
    case "full":
      return { type: "failed", reason: FULL };
    case "constraint":
      return { type: "failed", reason: "another process has written to the data directory" };
    case "damaged":
      return DAMAGED;
    default:
      return { type: "failed", reason: `${what} failed: ${toReason(error)}` };
  }
}

/** The reason of an error without the file paths that its message may contain. */
function toReason(error: unknown): string {
  const { errstr, code } = error as { readonly errstr?: string; readonly code?: string };
  return errstr ?? code ?? "for an unknown reason";
}

/** Whether a failure can go away by itself. */
export function isFull(reply: FromWriter | undefined): boolean {
  return reply?.type === "failed" && reply.reason === FULL;
}

const FULL = "the disk is full";

const DAMAGED: FromWriter = { type: "failed", reason: "the database is damaged" };

/** The reply to what was not written. */
const TRY_AGAIN: FromWriter = { type: "committed", refused: [[0, "it was not written"]] };

const NOTHING = new Uint8Array();

/** Chunks that a statement of a purge deletes: few enough that a commit hardly waits, also if each is read from the disk. */
const PURGE_CHUNKS = 16;

/** So many runs are removed in a commit, and more until a time is over, however slow the machine is: the commits of turns wait for it. A purge has the same time. */
const REMOVALS = { least: 8, withinMs: 8 };

/** What the removal of a run changes. */
const REMOVED = [
  "removeRun",
  "removeRequests",
  "removeAliases",
  "removeReferences",
  "removeWaits",
  "removeOutbox",
  "removeSchedules",
  "removeSnapshot",
  "removeBase",
  "removeDueText",
] as const;

/** What that of an idle run changes, which has nothing of the rest. */
const REMOVED_IF_IDLE = [
  "removeRun",
  "removeRequests",
  "removeWaits",
  "removeBase",
  "removeDueText",
] as const;

/** How long a checkpoint waits for readers, in milliseconds. */
const READERS_MS = 20;

/** Each try waits for readers as long as a connection does, 5 s. */
const TRUNCATE_TRIES = 12;

// The head file is at most seconds older than the log, so hashes of older transactions are not needed.
const KEPT_BATCHES = 65_536;
const FORGET_EVERY = 1_024;
