import { AgentError } from "../../errors.ts";
import { Fenced, Owned, Unavailable } from "../../ports/event-log.ts";
import type { Claim, Cursor, EventLog, Page, RemoveOptions, SeenRun } from "../../ports/event-log.ts";
import type { Batch } from "../../ports/log-batch.ts";
import type { ClaimOptions, ReadOptions } from "../../ports/log-queries.ts";
import type { RunWake } from "../../ports/router.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { Deferred } from "../../shared/deferred.ts";
import { TailCache } from "../shared/tail-cache.ts";
import { FollowedRuns, Tails } from "../shared/tails.ts";
import { advance, Claims, toFenced } from "../sql/claims.ts";
import { createIndexQueries } from "../sql/queries.ts";
import type { SqlQuery } from "../sql/query.ts";
import { createRunIndex } from "../sql/run-index.ts";
import { statisticsAnswers } from "../sql/statistics.ts";
import { createWordSearch, wordsChangedBy } from "../sql/word-search.ts";
import { BackgroundIndexer } from "../sql/background-indexer.ts";
import { auditIn, findAgents } from "./audit.ts";
import { spendingIn } from "./spending.ts";
import { statisticsIn, sumHours } from "./statistics.ts";
import { artifactsIn } from "./artifacts.ts";
import { DatabaseHealth } from "./connection/database-health.ts";
import { Database } from "./connection/database.ts";
import { toOpenError } from "./connection/open-error.ts";
import { readServerDurability } from "./connection/server.ts";
import type { ServerDurability } from "./connection/server.ts";
import { POSTGRES } from "./dialect.ts";
import { postgresNodes } from "./node-table.ts";
import { KeyRotation } from "./key-rotation.ts";
import type { PostgresLogOptions } from "./options.ts";
import { PageReads, RowReads, readPage, readSize, readSnapshot } from "./reader.ts";
import { checkVersion, migrate } from "./schema/migrate.ts";
import { checkObjects } from "./schema/objects.ts";
import { checkAlone } from "./shards/parts.ts";
import type { MovableRuns } from "./shards/places.ts";
import { checkKey, keysOf, secretsIn } from "./secrets.ts";
import { INDEX_STATEMENTS, indexTexts } from "./texts.ts";
import { versionsIn } from "./versions.ts";
import { LostWakes } from "./wakes/lost-wakes.ts";
import { WakeChannel } from "./wakes/wake-channel.ts";
import { AppendQueue, encodeAppend } from "./writer/append-queue.ts";
import {
  CLAIM,
  ClaimNumbers,
  claimRun,
  isMoved,
  LostAppends,
  Moved,
  Releases,
  Removals,
  REMOVE_IDLE,
} from "./writer/claims.ts";
import type { ClaimedRun } from "./writer/claims.ts";

/** A log in PostgreSQL, for several nodes. */
export type PostgresLog = EventLog & Required<Pick<EventLog, "artifacts" | "node" | "nodes" | "secrets">>;

/** A log that can be in one of several databases. */
export type PartLog = PostgresLog & MovableRuns;

/** Opens a log in a PostgreSQL database, which several nodes can have open. Creates its tables if needed. */
export async function postgresLog(options: PostgresLogOptions = {}): Promise<PostgresLog> {
  return logIn(await Database.connect(options), options);
}

interface PartOptions {
  /** Whether it is one of several databases of a log. */
  readonly isPart?: boolean;
  /** Shards have moved, or are going to. */
  onShards?(): void;
}

/** Opens a log in a database, which is closed with it. */
export async function logIn(
  database: Database,
  options: PostgresLogOptions,
  { isPart = false, onShards }: PartOptions = {},
): Promise<PartLog> {
  const { node = newNode(), nodes = "several", cacheBytes = 16 * 1024 * 1024, listenUrl } = options;
  const queries = createIndexQueries(POSTGRES);
  database.prepare([...queries.texts, ...INDEX_STATEMENTS, CLAIM, REMOVE_IDLE]);
  const ask = async <Answer>({ text, values, toAnswer }: SqlQuery<Answer>): Promise<Answer> =>
    toAnswer(await database.ask(text, values));
  const keys = keysOf(options.secretsKey);
  const secrets = secretsIn(database, keys);
  const rotation = new KeyRotation(database, keys);
  const claims = new Claims<ClaimedRun>();
  const { search, wordsOf } = createWordSearch({ queries, ask, read });
  const rows = new RowReads(queries, ask);
  const index = createRunIndex({ queries, claims, node, ask, askRow: (runId) => rows.ask(runId), search });
  const indexer = new BackgroundIndexer(() => indexTexts(database, wordsOf));
  const summer = new BackgroundIndexer(() => sumHours(database));
  const reads = new PageReads(database);
  const cache = new TailCache(cacheBytes);
  const tails = new Tails();
  const followed = new FollowedRuns(tails, (runId) => claims.get(runId)?.isHeld === true);
  const lost = new LostWakes(database, tails, onLost);
  const releases = new Releases(database);
  const removals = new Removals(database);
  const numbers = new ClaimNumbers(database);
  const health = new DatabaseHealth(database);
  let closing: Promise<void> | undefined;
  let changed: RunWake[] = [];
  /** The newest hour that turns or completions of this node have ended in. */
  let newestHour = 0;

  const queue = new AppendQueue(database, (reason) => health.failed(reason));

  const channel = new WakeChannel({
    database,
    node,
    url: listenUrl,
    nodes,
    carrier: () => followed.carrier,
    onChanged,
    ...(onShards && { onShards }),
    onReconnected() {
      onShards?.();
      for (const runId of Array.from(tails.runIds)) tails.wake(runId);
    },
    async look(client, isNew) {
      void health.check({ isAnother: isNew });
      onChanged(await lost.look(client, appends()));
    },
  });

  const { durability } = await open().catch(async (error: unknown) => {
    health.close();
    await database.close();
    throw toOpenError(error, database.address);
  });

  async function open(): Promise<ServerDurability> {
    const server = await readServerDurability(database);
    if (options.migrate === false) await checkVersion(database);
    else await migrate(database);
    await checkObjects(database);
    if (!isPart) await checkAlone(database);
    if (keys.length > 0) await checkKey(secrets);
    await channel.open();
    health.warn(server.warnings);
    indexer.wake();
    if (options.migrate !== false) rotation.start();
    summer.wake();
    return server;
  }

  /** Another node has changed runs under these claims; an older claim of this node holds no longer. */
  function onChanged(changes: readonly RunWake[]): void {
    for (const { runId, epoch } of changes) {
      const run = claims.get(runId);
      if (run !== undefined && run.epoch < epoch) loseSettled(run);
      tails.wake(runId);
    }
  }

  /** Loses a claim, and wakes its readers again, when its running append has ended: until then it cannot be claimed. */
  function loseSettled(run: ClaimedRun): void {
    if (run.pending === undefined) lose(run);
    else
      void run.pending.promise.then(() => {
        loseSettled(run);
        tails.wake(run.runId);
      });
  }

  /** The database has fewer events of a run than this node knows of. The claim and its cached events hold no longer. */
  function onLost(runId: RunId): void {
    health.lost(runId);
    const run = claims.get(runId);
    if (run !== undefined && run.pending === undefined) lose(run);
    tails.wake(runId);
  }

  async function claim(
    runId: RunId,
    { unlessOwnedBy = [], isNew = false }: ClaimOptions = {},
  ): Promise<Claim> {
    // A shard can move before the first append, and the numbers are those of one database.
    if (isNew && !isPart) return claimNew(runId);
    if (claims.get(runId)?.isHeld === true && unlessOwnedBy.includes(node)) throw new Owned(runId, node);
    // What this node does not hold it may take: the claim is its own, whose answer was lost.
    const spared = unlessOwnedBy.filter((other) => other !== node);
    await claims.fence(runId);
    const claimed = await claimRun(database, runId, { node, spared, channel: channel.name }).finally(() =>
      followed.lost(runId),
    );
    if ("holder" in claimed) throw new Owned(runId, claimed.holder);
    const { entry, snapshot, ...run } = claimed;
    cache.drop(runId);
    claims.take({ ...run, runId, row: entry ?? {}, pending: undefined, isHeld: true });
    return {
      cursor: { runId, epoch: run.epoch, head: run.head, records: run.records },
      ...(entry && { run: entry }),
      ...(snapshot && { snapshot }),
    };
  }

  /** Claims a run that no other node knows: the first append writes the claim. */
  async function claimNew(runId: RunId): Promise<Claim> {
    const epoch = await numbers.next();
    await claims.fence(runId);
    const place = { runId, epoch, head: 0, records: 0 };
    const state = { appends: 0, stored: false, removed: false, row: {}, pending: undefined, isHeld: true };
    claims.take({ ...place, ...state, claimant: node });
    return { cursor: place };
  }

  async function append(cursor: Cursor, batch: Batch): Promise<Cursor> {
    const run = writable(cursor);
    if (run.removed) throw new AgentError("gone", `run ${run.runId} was removed`);
    if (!run.stored && batch.run === undefined) {
      throw new TypeError("the first batch of a run needs its row");
    }
    const encoded = encodeAppend(run, batch);
    const { promise, resolve, reject } = Promise.withResolvers<Cursor>();
    const settled = hold(run);
    queue.post({
      ...encoded,
      run,
      settle(error) {
        if (error === undefined) {
          run.appends += 1;
          run.isUnsure = false;
          run.claimant = undefined;
          run.recent = encoded.recent;
          advance(run, batch);
          const count = countEvents(batch.events);
          for (const { hour } of batch.statistics ?? []) {
            if (hour <= newestHour) continue;
            newestHour = hour;
            summer.wake();
          }
          // It has what is before the base.
          if (batch.base) cache.drop(run.runId);
          if (count > 0) cache.add(run.runId, run.head - count + 1, batch.events, encoded.body.length);
          resolve({ runId: run.runId, epoch: run.epoch, head: run.head, records: run.records });
          wakeLater(run);
          indexer.wake(wordsChangedBy(batch));
          if (batch.alias?.from !== undefined) wakeLater({ runId: batch.alias.from, epoch: 0 });
        } else {
          // After a conflict or a move the owner can continue; after anything else the claim is lost or its state unknown.
          if (!(error instanceof AgentError || error instanceof Moved)) lose(run);
          if (error instanceof LostAppends) onLost(run.runId);
          if (error instanceof Fenced && run.claimant !== undefined) numbers.drop();
          reject(error);
        }
        settled();
      },
    });
    return promise;
  }

  async function remove(cursor: Cursor, { erases = false }: RemoveOptions = {}): Promise<readonly string[]> {
    const run = writable(cursor);
    if (!run.stored || run.removed) {
      release(cursor);
      return [];
    }
    const settled = hold(run);
    let isMoving = false;
    try {
      const things = await ask(queries.references(run.runId));
      // After a lost answer the repeated statement finds the run removed.
      if (!(await removals.remove(run, { erases }))) {
        isMoving = isPart && (await isMoved(database, run));
        if (isMoving) throw new Moved(run.runId);
        if ((await ask(queries.run(run.runId)))?.removed !== true) throw toFenced(run.runId);
        await database.confirm();
      }
      return await index.unreferenced(things);
    } finally {
      // It is removed, or what it is now is unknown. Readers are woken when no claim shows them the events of before.
      if (!isMoving) {
        lose(run);
        wakeLater(run);
      }
      settled();
    }
  }

  async function removeIdle(seen: readonly SeenRun[]): Promise<readonly RunId[]> {
    checkWritable();
    const removed = await removals.removeIdle(seen);
    for (const runId of removed) wakeLater({ runId, epoch: 0 });
    return removed;
  }

  function release(cursor: Cursor): void {
    const run = claims.release(cursor);
    if (run === undefined) return;
    const end = (): void => {
      lose(run);
      if (run.claimant === undefined) releases.add(run);
    };
    if (run.pending === undefined) end();
    else void run.pending.promise.then(end);
  }

  function lose(run: ClaimedRun): void {
    if (!claims.drop(run)) return;
    cache.drop(run.runId);
    followed.lost(run.runId);
  }

  /** Marks a run as changing; the returned function ends that. */
  function hold(run: ClaimedRun): () => void {
    const pending = new Deferred<void>();
    run.pending = pending;
    return () => {
      run.pending = undefined;
      pending.resolve();
    };
  }

  function wakeLater({ runId, epoch }: RunWake): void {
    changed.push({ runId, epoch });
    if (changed.length > 1) return;
    // After the callers have their cursors.
    queueMicrotask(() => {
      const changes = changed;
      changed = [];
      for (const change of changes) tails.wake(change.runId);
      channel.tell(changes);
    });
  }

  function writable(cursor: Cursor): ClaimedRun {
    checkWritable();
    return claims.owned(cursor);
  }

  function checkWritable(): void {
    const { refusal } = health;
    if (refusal !== undefined) throw new Unavailable(refusal);
  }

  function read(runId: RunId, options: ReadOptions): Page | Promise<Page> {
    const run = claims.get(runId);
    if (run === undefined || run.claimant !== undefined) return readPage(reads, runId, options);
    const { head } = run;
    // Only a node that hears of other claims knows that its own one holds.
    if (options.records !== true && run.isHeld && run.isUnsure !== true && channel.isHearing) {
      if (options.after >= head) return { events: [], records: [], head };
      const events = cache.read(runId, options);
      if (events !== undefined) return { events, records: [], head };
    }
    return readPage(reads, runId, options, run, () => lose(run));
  }

  /** The number of acknowledged appends of each own run. */
  function appends(): ReadonlyMap<RunId, number> {
    return new Map(Array.from(claims.all, ({ runId, appends }) => [runId, appends]));
  }

  async function close(): Promise<void> {
    health.close();
    await Promise.all([indexer.close(), summer.close(), rotation.close()]);
    await queue.settled();
    await releases.settled();
    await Promise.all([channel.close(), database.close()]);
  }

  return {
    ...index,
    node,
    durability,
    // Lost wakes are found by the engine itself.
    reliableTail: true,
    // The small appends of a run are one.
    sharesRows: true,
    claim,
    append,
    release,
    read,
    tail: (runId, wake) => followed.tail(runId, wake),
    watch: (wake) => followed.watch(wake),
    size: (runId) => readSize(database, runId),
    snapshot: (runId) => readSnapshot(database, runId),
    remove,
    removeIdle,
    spending: spendingIn(database, {
      on: (key) => ask(queries.spentOn(key)),
      list: (query) => ask(queries.spent(query)),
    }),
    statistics: statisticsIn(database, statisticsAnswers(queries, ask)),
    audit: auditIn(database, async (query) => ask(queries.audit(query))),
    scrub: async () => {},
    async indexed() {
      await Promise.all([indexer.settle(), summer.settle()]);
    },
    health: () => ({ ...health.report, ...(rotation.parts.length > 0 && { parts: rotation.parts }) }),
    figures: () => queue.figures,
    nodes: () => postgresNodes(database),
    wakes: () => ({
      carry: (carrier) => followed.carry(carrier),
      heard: onChanged,
      look: () => channel.lookNow(),
      tellAll: (changes) => channel.tellAll(changes),
      disown: (other, number) => channel.disown(other, number),
    }),
    // The log closes their connections.
    artifacts: () => artifactsIn(database, async () => {}),
    secrets: () => secrets,
    // Without a key nothing shows that a version is what a node has kept.
    ...(keys.length > 0 && { versions: () => versionsIn(database, keys) }),
    close: () => (closing ??= close()),
    claims: (runId) => claims.get(runId) !== undefined,
    get claimed() {
      return claims.all;
    },
    give(runId) {
      const run = claims.get(runId);
      if (run === undefined || !run.isHeld || run.pending !== undefined) return undefined;
      lose(run);
      return run;
    },
    take: (run) => claims.take({ ...run, isHeld: true, isUnsure: true }),
    async eraseAudit(runId) {
      await database.ask("DELETE FROM troupe.audit WHERE run = $1", [runId]);
    },
    agentsOf: (runIds) => findAgents(database, runIds),
    settled: async (runId) => claims.get(runId)?.pending?.promise,
  };
}

export function newNode(): string {
  return crypto.randomUUID();
}
