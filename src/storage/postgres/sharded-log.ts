import { AgentError } from "../../errors.ts";
import { Fenced } from "../../ports/event-log.ts";
import type {
  Claim,
  Cursor,
  EventLog,
  LogFigures,
  LogHealth,
  RemoveOptions,
  SeenRun,
} from "../../ports/event-log.ts";
import type { Batch } from "../../ports/log-batch.ts";
import type {
  ListedRequestEntry,
  OutboxEntry,
  RequestEntry,
  RequestEntryPage,
  RunEntry,
  RunEntryPage,
} from "../../ports/log-entries.ts";
import type { OutboxQuery, RequestListQuery, RunEntryQuery } from "../../ports/log-queries.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import type { LogWakes, RunWake } from "../../ports/router.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import {
  checkNoCursor,
  compareRuns,
  compareTexts,
  compareWaits,
  positionOf,
  requestPositionOf,
  toListCursor,
  toRequestCursor,
  toSchedulePage,
  toWaitPage,
  totalOf,
} from "../shared/lists.ts";
import type { ListPosition, RequestPosition } from "../shared/lists.ts";
import { Database } from "./connection/database.ts";
import { toOpenError } from "./connection/open-error.ts";
import { readServerDurability } from "./connection/server.ts";
import type { PostgresConnection, PostgresLogOptions } from "./options.ts";
import { logIn, newNode } from "./postgres-log.ts";
import type { PartLog, PostgresLog } from "./postgres-log.ts";
import { checkVersion, migrate } from "./schema/migrate.ts";
import {
  keptItems,
  keptPage,
  mergeParts,
  mergeSorted,
  mergedAudit,
  mergedSpending,
  mergedStatistics,
} from "./shards/merged.ts";
import type { KeptPage, MergedPart } from "./shards/merged.ts";
import { aliasDigest, aliasKey, joinParts, requestDigest, requestKey, shardOf } from "./shards/parts.ts";
import type { UniqueKey } from "./shards/parts.ts";
import { Places } from "./shards/places.ts";
import type { IsCopy, LogPlace } from "./shards/places.ts";
import { Reservations } from "./shards/reservations.ts";
import type { Holders } from "./shards/reservations.ts";
import { ShardTable } from "./shards/shard-table.ts";

/** What `shardedPostgresLog` takes. */
export interface ShardedPostgresLogOptions extends Omit<
  PostgresLogOptions,
  Exclude<keyof PostgresConnection, "max">
> {
  /**
   * The databases of the log, always in the same order. The first one also has what belongs to no run. Empty ones behind the others are
   * added to the log; they get shards when those are moved there.
   */
  readonly databases: readonly (PostgresConnection & Pick<PostgresLogOptions, "listenUrl">)[];
}

/**
 * Opens one log in several PostgreSQL databases. A run, with all that is committed with it, is in one of them, which its shard says. The
 * first one also has the nodes, the secrets, the files, the kept versions, and which run has reserved an id or a name.
 */
export async function shardedPostgresLog({
  databases: connections,
  ...options
}: ShardedPostgresLogOptions): Promise<PostgresLog> {
  const { node = newNode(), migrate: mayChange = true, secretsKey, max, ...others } = options;
  const common = { ...others, node, migrate: mayChange, ...(max !== undefined && { max }) };
  const databases = await Promise.all(
    connections.map((connection) => Database.connect({ ...common, ...connection })),
  );
  try {
    await Promise.all(
      databases.map(async (database) => {
        try {
          await readServerDurability(database);
          if (mayChange) await migrate(database);
          else await checkVersion(database);
        } catch (error) {
          throw toOpenError(error, database.address);
        }
      }),
    );
    const numbers = await joinParts(databases, { mayChange });
    const [first] = databases;
    if (first === undefined) throw new TypeError("a log needs a database");
    let places: Places | undefined;
    const table = await ShardTable.open(first, (shards) => places?.moved(shards));
    try {
      const logs = await openParts(databases, (database, index) =>
        logIn(
          database,
          {
            ...common,
            ...connections[index],
            ...(index === 0 && secretsKey !== undefined && { secretsKey }),
          },
          { isPart: true, ...(index === 0 && { onShards: () => table.look() }) },
        ),
      );
      const all = logs.map((log, index): LogPlace => ({
        log,
        number: numbers[index] ?? 0,
        database: databases[index] ?? first,
      }));
      places = new Places(all as [LogPlace, ...LogPlace[]], table);
      return divided(places, table);
    } catch (error) {
      table.close();
      throw error;
    }
  } catch (error) {
    await Promise.allSettled(databases.map((database) => database.close()));
    throw error;
  }
}

/** Opens the logs in all databases, or none. */
async function openParts(
  databases: readonly Database[],
  open: (database: Database, index: number) => Promise<PartLog>,
): Promise<readonly PartLog[]> {
  const opened = await Promise.allSettled(databases.map(open));
  const logs = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = opened.find((one) => one.status === "rejected");
  if (failed === undefined) return logs;
  await Promise.allSettled(logs.map((log) => log.close()));
  throw failed.reason;
}

function divided(places: Places, table: ShardTable): PostgresLog {
  const { first } = places;
  const logs = places.all.map(({ log }) => log);
  const all = <Answer>(ask: (log: PartLog, place: LogPlace) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(places.all.map((place) => ask(place.log, place)));

  const holders: Holders = {
    holderOf: async (key, runId) =>
      key.type === "alias"
        ? places.ask(runId, (log) => log.find(key.alias))
        : (await places.ask(runId, (log) => log.lookup(key.requestId, key.owner)))?.runId,
    isRemoved: async (runId) => (await places.ask(runId, (log) => log.run(runId)))?.removed === true,
    async fence(runId) {
      release((await claim(runId)).cursor);
    },
  };
  const reservations = new Reservations(first.database, holders);

  async function claim(...[runId, options]: Parameters<EventLog["claim"]>): Promise<Claim> {
    const claimed = await places.change(runId, async () => {
      await places.settled(runId);
      return places.holderOf(runId).claim(runId, options);
    });
    const cursor = withOwner(claimed.cursor, claimed.run && ownerOf(claimed.run));
    return cursor === claimed.cursor ? claimed : { ...claimed, cursor };
  }

  function append(cursor: Cursor, batch: Batch): Cursor | Promise<Cursor> {
    const owner = batch.run === undefined ? ownerOfCursor(cursor) : ownerOf(batch.run);
    const keys = keysOf(batch, owner);
    if (keys.length > 0) return appendUnique(cursor, batch, { keys, owner });
    const next = appendAt(cursor, batch);
    if (owner === DEFAULT_OWNER) return next;
    return next.then((appended) => withOwner(appended, owner));
  }

  function appendAt(cursor: Cursor, batch: Batch): Promise<Cursor> {
    return places.change(cursor.runId, async () => places.holderOf(cursor.runId).append(cursor, batch));
  }

  function release(cursor: Cursor): void {
    // An append may be under way in a database that the run has left.
    for (const log of logs) log.release(cursor);
  }

  async function appendUnique(
    cursor: Cursor,
    batch: Batch,
    { keys, owner }: { readonly keys: readonly UniqueKey[]; readonly owner: string },
  ): Promise<Cursor> {
    const { runId } = cursor;
    const from = batch.alias?.from;
    if (from !== undefined && !isBeside(runId, from))
      throw new AgentError("invalid_request", `run ${runId} is in another shard than run ${from}`, {
        hint: "choose an id for which isBeside is true",
      });
    const reserved = await reservations.reserve(keys, runId);
    try {
      return withOwner(await appendAt(cursor, batch), owner);
    } catch (error) {
      // After anything else it is not known whether the append has landed.
      if (error instanceof AgentError || error instanceof Fenced) await reservations.drop(reserved);
      throw error;
    }
  }

  function isBeside(runId: RunId, other: RunId): boolean {
    return shardOf(runId) === shardOf(other);
  }

  async function lookup(requestId: RequestId, owner?: string): Promise<RequestEntry | undefined> {
    const asked = owner ?? DEFAULT_OWNER;
    const runId = await reservations.find(requestDigest(requestId, asked));
    const entry =
      runId === undefined ? undefined : await places.ask(runId, (log) => log.lookup(requestId, asked));
    if (entry !== undefined || owner !== undefined) return entry;
    const found = await places.everywhere((isCopy) =>
      all(async (log, place) => {
        const one = await log.lookup(requestId);
        return one === undefined || isCopy(one.runId, place) ? undefined : one;
      }),
    );
    const entries = found.filter((one) => one !== undefined);
    return entries.sort((a, b) => compareTexts(ownerOf(a), ownerOf(b)))[0];
  }

  function list(query: RunEntryQuery): Promise<RunEntryPage> {
    if (query.byCreation === true) checkNoCursor(query);
    return places.everywhere((isCopy) => listOnce(query, isCopy));
  }

  async function listOnce(query: RunEntryQuery, isCopy: IsCopy): Promise<RunEntryPage> {
    const { limit, offset = 0, byCreation = false, oldestFirst = false } = query;
    const { offset: _, cursor: start, ...whole } = query;
    const [most, isNeeded] = [limit + offset, isNeededOf(isCopy)];
    if (byCreation) {
      const lists = await all(async (log, place) => {
        let total = 0;
        const runs = await keptItems(most, isNeeded(place), async (count) => {
          const page = await log.list({ ...whole, limit: count ?? most });
          total = page.total ?? 0;
          return page.runs;
        });
        return { runs, total };
      });
      const merged = mergeSorted(
        lists.map(({ runs }) => runs),
        compareCreated,
      );
      return { runs: merged.slice(offset, most), ...totalOf(query, () => totalIn(lists)) };
    }
    const { items, next, looked, total } = await pagesOf<ListPosition, RunEntry>(
      async (log, count, cursor) => {
        const page = await log.list({ ...whole, limit: count, ...(cursor !== undefined && { cursor }) });
        return { ...page, items: page.runs };
      },
      {
        limit: most,
        start,
        isCopy,
        endOf: (cursor) => positionOf({ limit, cursor }),
        compare: (a, b) => (oldestFirst ? compareRuns(b, a) : compareRuns(a, b)),
      },
    );
    return {
      runs: items.slice(offset),
      ...(next !== undefined && { next: toListCursor(next) }),
      ...(looked !== undefined && { looked }),
      ...totalOf(query, () => total),
    };
  }

  async function listRequestsOnce(query: RequestListQuery, isCopy: IsCopy): Promise<RequestEntryPage> {
    const { limit, cursor: start } = query;
    const { items, next, looked } = await pagesOf<RequestPosition, ListedRequestEntry>(
      async (log, count, cursor) => {
        const page = await log.listRequests(pageOf(query, count, cursor));
        return { ...page, items: page.requests };
      },
      {
        limit,
        start,
        isCopy,
        endOf: (cursor) => requestPositionOf({ cursor }),
        compare: compareRuns,
      },
    );
    return {
      requests: items,
      ...(next !== undefined && { next: toRequestCursor(next) }),
      ...(looked !== undefined && { looked }),
    };
  }

  /** Asks for the pages of a list in all databases, and merges them up to the place that the end of each one is at. */
  async function pagesOf<Place, Item extends Place & { readonly runId: RunId }>(
    ask: AskPage<Item>,
    { limit, start, isCopy, endOf, compare }: PagesOptions<Place, Item>,
  ): Promise<MergedPart<Item, Place> & { readonly looked?: number; readonly total: number }> {
    let [looked, total] = [0, 0];
    const parts = await all(async (log, place) => {
      const isNeeded = isNeededOf(isCopy)(place);
      const { items, next, last } = await keptPage<Item>(limit, start, isNeeded, async (count, cursor) => {
        const page = await ask(log, count, cursor);
        looked += page.looked ?? 0;
        if (cursor === start) total += page.total ?? 0;
        return page;
      });
      return { items, until: next === undefined ? undefined : endOf(next, last) };
    });
    const merged = mergeParts<Place, Item>(parts, compare, limit);
    const isShort = merged.next !== undefined && merged.items.length < limit;
    return { ...merged, total, ...(looked > 0 && isShort && { looked }) };
  }

  function runIds(...[query]: Parameters<EventLog["runIds"]>): Promise<readonly RunId[]> {
    const { after, limit, ...rest } = query;
    return places.everywhere(async (isCopy) => {
      const found: RunId[] = [];
      // Those of one database after those of another one.
      const start = after === undefined ? 0 : places.indexOf(after);
      for (const [index, place] of places.all.entries()) {
        if (index < start || found.length >= limit) continue;
        const own = index === start ? after : undefined;
        const isNeeded = (runId: RunId): boolean => !isCopy(runId, place);
        const ids = await keptItems(limit - found.length, isNeeded, (count = limit) =>
          place.log.runIds({ ...rest, limit: count, ...(own !== undefined && { after: own }) }),
        );
        found.push(...ids);
      }
      return found;
    });
  }

  /** A page of a list whose items are its places. */
  async function paged<Item extends { readonly runId: RunId }, Answer extends { readonly next?: string }>(
    query: { readonly limit: number; readonly cursor?: string; readonly total?: boolean | number },
    ask: AskPage<Item>,
    {
      compare,
      toPage,
    }: {
      compare(a: Item, b: Item): number;
      toPage(items: readonly Item[], limit: { readonly limit: number }): Answer;
    },
  ): Promise<Answer & { readonly total?: number }> {
    const { limit, cursor: start } = query;
    return places.everywhere(async (isCopy) => {
      const endOf = (_: string, last: Item | undefined): Item | undefined => last;
      const { items, next, total } = await pagesOf(ask, { limit, start, isCopy, endOf, compare });
      const page = { ...toPage(items, { limit: items.length }), ...totalOf(query, () => total) };
      // A page of this one alone, with one behind it, has the cursor.
      return next === undefined ? page : { ...page, next: toPage([next, next], { limit: 1 }).next };
    });
  }

  async function outbox(query: OutboxQuery): Promise<readonly OutboxEntry[]> {
    const { runId, newest } = query;
    if (runId !== undefined) return places.ask(runId, (log) => log.outbox(query));
    const lists = await places.everywhere((isCopy) =>
      all((log, place) =>
        keptItems(newest, isNeededOf(isCopy)(place), (count) =>
          log.outbox({ ...query, ...(count !== undefined && { newest: count }) }),
        ),
      ),
    );
    if (newest === undefined) return lists.flat();
    const rows = new Map<RunId, RunEntry | undefined>();
    await Promise.all(
      [...new Set(lists.flat().map((entry) => entry.runId))].map(async (id) =>
        rows.set(id, await places.ask(id, (log) => log.run(id))),
      ),
    );
    const place = ({ runId: id }: OutboxEntry): ListPosition => ({
      runId: id,
      updatedAt: rows.get(id)?.updatedAt ?? 0,
    });
    return mergeSorted(lists, (a, b) => compareRuns(place(a), place(b))).slice(0, newest);
  }

  /** Asks for a list in all databases, and merges it. */
  async function merged<Entry extends { readonly runId: RunId }>(
    limit: number | undefined,
    ask: (log: PartLog, limit: number | undefined) => Promise<readonly Entry[]>,
    compare: (a: Entry, b: Entry) => number,
  ): Promise<readonly Entry[]> {
    const lists = await places.everywhere((isCopy) =>
      all((log, place) => keptItems(limit, isNeededOf(isCopy)(place), (count) => ask(log, count))),
    );
    const entries = mergeSorted(lists, compare);
    return limit === undefined ? entries : entries.slice(0, limit);
  }

  async function remove(cursor: Cursor, options: RemoveOptions = {}): Promise<readonly string[]> {
    const { runId } = cursor;
    // What was done to the run before it has moved is where it was.
    if (options.erases === true) await all((log) => log.eraseAudit(runId));
    return unreferenced(await places.change(runId, () => places.holderOf(runId).remove(cursor, options)));
  }

  async function removeIdle(seen: readonly SeenRun[]): Promise<readonly RunId[]> {
    // A database that a run has left, or has not arrived in, does not remove it.
    const groups = Map.groupBy(seen, ({ runId }) => places.indexOf(runId));
    const removed = await all((log, place) => log.removeIdle(groups.get(places.all.indexOf(place)) ?? []));
    return removed.flat();
  }

  function unreferenced(things: readonly string[]): Promise<readonly string[]> {
    return places.everywhere(async () => {
      let left = things;
      for (const log of logs) left = await log.unreferenced(left);
      return left;
    });
  }

  function health(): LogHealth {
    const reports = logs.map((log) => log.health());
    const failed = reports.find(({ writable }) => !writable);
    const warnings = [...new Set(reports.flatMap((report) => report.warnings ?? []))];
    const parts = reports.flatMap((report) => report.parts ?? []);
    return {
      writable: failed === undefined,
      ...(failed?.reason !== undefined && { reason: failed.reason }),
      ...(warnings.length > 0 && { warnings }),
      ...(parts.length > 0 && { parts }),
    };
  }

  function wakes(): LogWakes {
    const each = logs.flatMap((log) => log.wakes?.() ?? []);
    const indexOf = ({ runId }: RunWake): number => places.indexOf(runId);
    const deliver = (changes: readonly RunWake[], to: (wake: LogWakes, own: readonly RunWake[]) => void) => {
      for (const [place, own] of Map.groupBy(changes, indexOf)) {
        const wake = each[place];
        if (wake !== undefined) to(wake, own);
      }
    };
    return {
      carry(carrier) {
        const stops = each.map((wake) => wake.carry(carrier));
        return () => stops.forEach((stop) => stop());
      },
      heard: (changes) => deliver(changes, (wake, own) => wake.heard(own)),
      tellAll: (changes) => deliver(changes, (wake, own) => wake.tellAll(own)),
      look: () => each.forEach((wake) => wake.look()),
      disown: (node, number) => each.forEach((wake) => wake.disown(node, number)),
    };
  }

  return {
    node: first.log.node,
    durability: logs.some(({ durability }) => durability === "relaxed") ? "relaxed" : first.log.durability,
    reliableTail: true,
    claim,
    append,
    release,
    isBeside,
    read: (runId, options) => places.ask(runId, (log) => log.read(runId, options)),
    tail: (runId, wake) => places.tail(runId, wake),
    watch(wake) {
      const stops = logs.map((log) => log.watch(wake));
      return () => stops.forEach((stop) => stop());
    },
    lookup,
    requests: async (query) => places.ask(query.runId, (log) => log.requests(query)),
    async listRequests(query) {
      const { runId } = query;
      if (runId !== undefined) return places.ask(runId, (log) => log.listRequests(query));
      return places.everywhere((isCopy) => listRequestsOnce(query, isCopy));
    },
    run: async (runId, owner) => places.ask(runId, (log) => log.run(runId, owner)),
    async find(alias) {
      const runId = await reservations.find(aliasDigest(alias));
      return runId === undefined ? undefined : places.ask(runId, (log) => log.find(alias));
    },
    list,
    runIds,
    holdings: async (runId) => places.ask(runId, (log) => log.holdings(runId)),
    async size(runId) {
      return runId === undefined
        ? sum(await all((log) => log.size()))
        : places.ask(runId, (log) => log.size(runId));
    },
    open: (query) =>
      merged(
        undefined,
        (log) => log.open(query),
        (a, b) => a.createdAt - b.createdAt || compareTexts(a.requestId, b.requestId),
      ),
    waking: (query) =>
      merged(
        query.limit,
        (log, limit) => log.waking({ ...query, ...(limit !== undefined && { limit }) }),
        (a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0),
      ),
    due: (query) =>
      merged(
        query.limit,
        (log, limit) => log.due({ ...query, ...(limit !== undefined && { limit }) }),
        (a, b) => (a.due ?? 0) - (b.due ?? 0),
      ),
    parked: (query) =>
      merged(
        query.limit,
        (log, limit = query.limit) => log.parked({ ...query, limit }),
        (a, b) => compareTexts(a.runId, b.runId),
      ),
    async waits(query) {
      const { runId } = query;
      if (runId !== undefined) return places.ask(runId, (log) => log.waits(query));
      return paged(
        query,
        async (log, limit, cursor) => {
          const { waits, ...found } = await log.waits(pageOf(query, limit, cursor));
          return { items: waits, next: found.next, total: found.total };
        },
        { compare: compareWaits, toPage: toWaitPage },
      );
    },
    outbox,
    async schedules(query) {
      const { runId } = query;
      if (runId !== undefined) return places.ask(runId, (log) => log.schedules(query));
      return paged(
        query,
        async (log, limit, cursor) => {
          const { schedules, ...found } = await log.schedules(pageOf(query, limit, cursor));
          return { items: schedules, next: found.next, total: found.total };
        },
        {
          compare: (a, b) => compareTexts(a.runId, b.runId) || compareTexts(a.id, b.id),
          toPage: toSchedulePage,
        },
      );
    },
    snapshot: async (runId) => places.ask(runId, (log) => log.snapshot(runId)),
    unreferenced,
    remove,
    removeIdle,
    audit: mergedAudit(
      logs.map((log) => ({ ...log.audit, agentsOf: (runIds: readonly RunId[]) => log.agentsOf(runIds) })),
      (runId) => places.indexOf(runId),
    ),
    spending: mergedSpending(logs.map(({ spending }) => spending)),
    statistics: mergedStatistics(logs.map(({ statistics }) => statistics)),
    async scrub() {
      await all((log) => log.scrub());
    },
    async indexed() {
      await all(async (log) => log.indexed?.());
    },
    health,
    figures() {
      const known = logs.flatMap((log) => log.figures?.() ?? []);
      return known.reduce(addFigures, NO_FIGURES);
    },
    nodes: () => first.log.nodes(),
    wakes,
    artifacts: () => first.log.artifacts(),
    secrets: () => first.log.secrets(),
    ...(first.log.versions && { versions: first.log.versions.bind(first.log) }),
    async close() {
      table.close();
      await all((log) => log.close());
    },
  };
}

/** Asks one of the databases for a page of a list. */
type AskPage<Item> = (
  log: PartLog,
  limit: number,
  cursor: string | undefined,
) => Promise<KeptPage<Item> & { readonly looked?: number | undefined; readonly total?: number | undefined }>;

interface PagesOptions<Place, Item> {
  readonly limit: number;
  readonly start: string | undefined;
  readonly isCopy: IsCopy;
  /** The place at which a page ends: by its cursor, or its last item. */
  endOf(cursor: string, last: Item | undefined): Place | undefined;
  compare(a: Place, b: Place): number;
}

/** The query for a page of one database. */
function pageOf<Query extends { readonly limit: number; readonly cursor?: string }>(
  query: Query,
  limit: number,
  cursor: string | undefined,
): Omit<Query, "cursor"> & { readonly limit: number; readonly cursor?: string } {
  const { cursor: _, ...whole } = query;
  return { ...whole, limit, ...(cursor !== undefined && { cursor }) };
}

/** Says of what is in a database whether it is needed: it is not of a run that is only a copy there. */
function isNeededOf(isCopy: IsCopy): (place: LogPlace) => (entry: { readonly runId: RunId }) => boolean {
  return (place) => (entry) => !isCopy(entry.runId, place);
}

/** The number of what is in all databases. While a shard moves, what is in it may be counted twice. */
function totalIn(pages: readonly { readonly total: number }[]): number {
  return sum(pages.map(({ total }) => total));
}

/** What a batch gives its run that no other run may have. */
function keysOf({ requests = [], alias }: Batch, owner: string): readonly UniqueKey[] {
  const keys = new Map<string, UniqueKey>();
  for (const { requestId, createdAt } of requests) {
    if (createdAt === undefined) continue;
    const key = requestKey(requestId, owner);
    keys.set(key.digest, key);
  }
  if (alias !== undefined) {
    const key = aliasKey(alias);
    keys.set(key.digest, key);
  }
  return [...keys.values()];
}

/** A cursor that knows the owner of its run, unless it is `default`. */
function withOwner(cursor: Cursor, owner: string | undefined): Cursor {
  return owner === undefined || owner === DEFAULT_OWNER ? cursor : { ...cursor, token: owner };
}

function ownerOfCursor({ token }: Cursor): string {
  return typeof token === "string" ? token : DEFAULT_OWNER;
}

/** A log in several databases knows no order of creation but that of the times. */
function compareCreated(a: RunEntry, b: RunEntry): number {
  return a.createdAt - b.createdAt;
}

function addFigures(one: LogFigures, two: LogFigures): LogFigures {
  return {
    commits: one.commits + two.commits,
    appends: one.appends + two.appends,
    bytes: one.bytes + two.bytes,
    retries: one.retries + two.retries,
    connections: one.connections + two.connections,
    busyConnections: one.busyConnections + two.busyConnections,
    waitingStatements: one.waitingStatements + two.waitingStatements,
  };
}

const NO_FIGURES: LogFigures = {
  commits: 0,
  appends: 0,
  bytes: 0,
  retries: 0,
  connections: 0,
  busyConnections: 0,
  waitingStatements: 0,
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
