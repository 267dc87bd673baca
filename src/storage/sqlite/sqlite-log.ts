import { AgentError } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import type { Batch, Claim, Cursor, EventLog, Page, ReadOptions } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import { Tails } from "../tails.ts";
import { createChunks } from "./chunks.ts";
import { Claims } from "./claims.ts";
import type { OwnedRun } from "./claims.ts";
import { encodeBatch } from "./encode-batch.ts";
import { toTrouble } from "./errors.ts";
import { openDirectory } from "./open-directory.ts";
import { createRows } from "./rows.ts";
import type { Durability } from "./schema.ts";
import { TailCache } from "./tail-cache.ts";
import { WriterClient } from "./writer-client.ts";
import type { Job } from "./writer-client.ts";

/** How a log on disk behaves. */
export interface SqliteLogOptions {
  /**
   * `full`, the default, syncs every commit to the disk before it is acknowledged. `relaxed` leaves that
   * to the system: a crash of the process loses nothing, a loss of power may lose the last seconds.
   */
  readonly durability?: Durability;
  /** Opens a log that has lost some of what it had acknowledged, with what is left. Default false. */
  readonly acceptLoss?: boolean;
  /** The shortest time between two commits. More gathers in each, and each event comes later. Default 0. */
  readonly commitIntervalMs?: number;
  /** How much of the newest events is held in memory for live readers, over all runs. Default 16 MiB. */
  readonly cacheBytes?: number;
}

/**
 * Opens a log in a directory of its own, on SQLite, and creates both if need be. Fails at once with
 * `DirectoryInUse` while another process has it open, and with `DamagedLog` when something is missing.
 */
export function sqliteLog(
  directory: string,
  {
    durability = "full",
    acceptLoss = false,
    commitIntervalMs = 0,
    cacheBytes = 16 * 1024 * 1024,
  }: SqliteLogOptions = {},
): EventLog {
  const { database, head, unlock } = openDirectory(directory, { durability, acceptLoss });
  const rows = createRows(database);
  const chunks = createChunks(database);
  const claims = new Claims(head.epoch);
  const cache = new TailCache(cacheBytes);
  const tails = new Tails();
  let lastRid = chunks.lastRid();
  let closing: Promise<void> | undefined;
  let appended: RunId[] = [];

  const writer = new WriterClient(
    { directory, durability, head },
    {
      commitIntervalMs,
      onCommitted() {
        const runIds = appended;
        appended = [];
        for (const runId of runIds) tails.wake(runId);
      },
      onRecovered() {
        for (const runId of claims.clear()) cache.drop(runId);
      },
    },
  );

  async function claim(runId: RunId): Promise<Claim> {
    await claims.fence(runId);
    const stored = guard(() => chunks.stored(runId));
    if (stored === undefined) lastRid += 1;
    const { rid, removed, head, records } = stored ?? { ...NEW_RUN, rid: lastRid };
    const entry = stored && guard(() => rows.run(runId));
    const snapshot = guard(() => chunks.snapshot(rid));
    cache.drop(runId);
    const { epoch } = claims.take({
      runId,
      rid,
      head,
      records,
      removed,
      stored: stored !== undefined,
      pending: undefined,
      requests: new Set(),
    });
    return {
      cursor: { runId, epoch, head, records },
      ...(entry && { run: entry }),
      ...(snapshot && { snapshot }),
    };
  }

  async function append(cursor: Cursor, batch: Batch): Promise<Cursor> {
    const run = writable(cursor);
    if (run.removed) throw new AgentError("gone", `run ${run.runId} was removed`);
    if (!run.stored && batch.run === undefined) {
      throw new TypeError("the first batch of a run needs its row");
    }
    const encoded = encodeBatch(run, batch);
    return commit(run, { rid: run.rid, append: encoded }, () => {
      const first = run.head + 1;
      run.head += batch.events.length;
      run.records += batch.records.length;
      remember(run, batch);
      if (batch.events.length > 0) {
        cache.add(run.runId, first, batch.events, encoded.body.length);
      }
      return { runId: run.runId, epoch: cursor.epoch, head: run.head, records: run.records };
    });
  }

  async function remove(cursor: Cursor): Promise<void> {
    const run = writable(cursor);
    if (!run.stored || run.removed) return release(cursor);
    await commit(run, { rid: run.rid }, () => {
      run.epoch = 0;
    });
  }

  function release(cursor: Cursor): void {
    if (claims.release(cursor)) cache.drop(cursor.runId);
  }

  function writable(cursor: Cursor): OwnedRun {
    const { writable, reason } = health();
    if (!writable) throw new Unavailable(reason);
    return claims.owned(cursor);
  }

  /** Has something committed for a run, and then its effect here done, before anyone hears of it. */
  function commit<Result>(run: OwnedRun, job: Omit<Job, "settle">, done: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const pending = Promise.withResolvers<void>();
    run.pending = pending.promise;
    writer.post({
      ...job,
      settle(error) {
        run.pending = undefined;
        if (error === undefined) {
          resolve(done());
          appended.push(run.runId);
        } else {
          reject(error);
        }
        if (claims.settle(run)) cache.drop(run.runId);
        pending.resolve();
      },
    });
    return promise;
  }

  async function read(runId: RunId, options: ReadOptions): Promise<Page> {
    const run = claims.get(runId);
    const { records = false, after } = options;
    if (run !== undefined && !records) {
      if (after >= run.head) return { events: [], records: [], head: run.head };
      const page = cache.read(runId, options);
      if (page !== undefined) return page;
    }
    return guard(() => chunks.page(runId, options, run?.head ?? Infinity));
  }

  function health() {
    return closing === undefined ? writer.health : CLOSED;
  }

  async function close(): Promise<void> {
    await writer.close();
    database.close();
    unlock();
  }

  return {
    durability,
    claim,
    append,
    release,
    read,
    tail: (runId, wake) => tails.add(runId, wake),
    lookup: async (requestId) => guard(() => rows.lookup(requestId)),
    run: async (runId) => guard(() => rows.run(runId)),
    find: async (alias) => guard(() => rows.find(alias)),
    list: async (query) => guard(() => rows.list(query)),
    open: async () => guard(() => rows.open()),
    remove,
    health,
    close: () => (closing ??= close()),
  };
}

const NEW_RUN = { removed: false, head: 0, records: 0 };

const CLOSED = { writable: false, reason: "the log is closed" };

/** Keeps in mind what the database now has of a run. */
function remember(run: OwnedRun, { run: row, requests = [] }: Batch): void {
  run.stored = true;
  if (row !== undefined) {
    run.initialInput = row.initialInput;
    run.metadata = row.metadata;
  }
  for (const { requestId, phase } of requests) {
    if (phase === "completed") run.requests.delete(requestId);
    else run.requests.add(requestId);
  }
}

/** Turns trouble with the database into `Unavailable`. */
function guard<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (toTrouble(error) === undefined) throw error;
    throw new Unavailable("the log cannot be read here", { cause: error });
  }
}
