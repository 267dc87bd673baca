import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import type { AuditPage, AuditQuery } from "../../ports/audit.ts";
import type {
  OutboxEntry,
  ScheduleEntry,
  ScheduleEntryPage,
  ListedRequestEntry,
  RequestEntry,
  RunEntry,
  RunEntryPage,
  WaitEntryPage,
} from "../../ports/log-entries.ts";
import type { RunAlias } from "../../ports/log-batch.ts";
import type {
  OutboxQuery,
  ScheduleQuery,
  OwnerQuery,
  RequestListQuery,
  RequestQuery,
  ParkedQuery,
  RunIdQuery,
  RunEntryQuery,
  WakeQuery,
  WaitEntryQuery,
} from "../../ports/log-queries.ts";
import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { Spent, SpentEntry, SpentKey } from "../../ports/spending.ts";
import type { RequestPhase } from "../../protocol/answers/status.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import { auditPlaceOf, toAuditPage } from "../shared/audit.ts";
import { fromOwnedKey, fromSpender, otherOwners, toOwnedKey, toSpender } from "../shared/owned-keys.ts";
import {
  checkNoCursor,
  positionOf,
  requestPositionOf,
  schedulePositionOf,
  toListCursor,
  toSchedulePage,
  toWaitPage,
  waitPositionOf,
} from "../shared/lists.ts";
import type { ListPosition } from "../shared/lists.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "./dialect.ts";
import type { SqlDialect } from "./dialect.ts";
import { toAuditEntry, toListedRequest, toOutbox, toRequest, toRun, toSchedule, toWait } from "./rows.ts";
import type {
  AuditColumns,
  ListedRequestColumns,
  RunColumns,
  ScheduleColumns,
  SpentColumns,
  WaitColumns,
} from "./rows.ts";
import { Conditions, toQuery } from "./query.ts";
import type { QueryValue, SqlQuery } from "./query.ts";
import { statisticsQueries } from "./statistics.ts";
import type { StatisticsQueries } from "./statistics.ts";

/** The questions to the index of runs and requests of an SQL engine. */
export interface IndexQueries extends StatisticsQueries {
  run(runId: RunId, owner?: string): SqlQuery<RunEntry | undefined>;
  /** The rows of several runs, in any order. */
  rows(runIds: readonly RunId[]): SqlQuery<readonly RunEntry[]>;
  find(alias: RunAlias): SqlQuery<RunId | undefined>;
  /** A page of a list, or of its runs up to a place. */
  list(query: RunEntryQuery, end?: ListPosition): SqlQuery<RunEntryPage>;
  /** The place of a run of a list, which is so many behind its cursor; `undefined` if it has fewer. */
  placeAt(query: RunEntryQuery, count: number): SqlQuery<ListPosition | undefined>;
  /** The runs of a list from its cursor on, and which of them have the words of a search. */
  walk(query: RunEntryQuery, words: readonly string[], size: number): SqlQuery<readonly WalkedRun[]>;
  /** Whether so many words are due that a search cannot look at all of these runs. */
  readonly areTextsBehind: SqlQuery<boolean> | undefined;
  /** The runs of a list whose words are due, up to a limit. */
  dueTexts(query: RunEntryQuery, limit: number): SqlQuery<readonly ListPosition[]>;
  /** The runs of a list whose words were found by an index; `undefined` if it finds more than `most` in all. */
  matching(query: RunEntryQuery, match: MatchQuery): SqlQuery<readonly ListPosition[] | undefined>;
  /** The rows of runs with what their words are made from. */
  textsOf(runIds: readonly RunId[]): SqlQuery<readonly RunText[]>;
  /** The number of runs of a list from its start, up to another one. */
  count(query: RunEntryQuery, most: number): SqlQuery<number>;
  runIds(query: RunIdQuery): SqlQuery<readonly RunId[]>;
  aliases(runId: RunId): SqlQuery<readonly RunAlias[]>;
  references(runId: RunId): SqlQuery<readonly string[]>;
  lookup(requestId: RequestId, owner: string): SqlQuery<RequestEntry | undefined>;
  /** A request of any other owner than `default`. */
  lookupOther(requestId: RequestId): SqlQuery<RequestEntry | undefined>;
  requests(query: RequestQuery): SqlQuery<readonly RequestEntry[]>;
  /** The rest of the requests of the run in which the previous page has ended; `undefined` for the first page. */
  restOfRun(query: RequestListQuery): SqlQuery<readonly ListedRequestEntry[]> | undefined;
  /** The requests of the runs behind that one, or of these up to a place. */
  requestsOfRuns(query: RequestListQuery, end?: ListPosition): SqlQuery<readonly ListedRequestEntry[]>;
  /** The place of the run that is so many behind that one, without regard to the time at which runs were created. */
  placeOfRequests(query: RequestListQuery, count: number): SqlQuery<ListPosition | undefined>;
  open(query: OwnerQuery): SqlQuery<readonly RequestEntry[]>;
  waking(query: WakeQuery): SqlQuery<readonly RequestEntry[]>;
  parked(query: ParkedQuery): SqlQuery<readonly RequestEntry[]>;
  waits(query: WaitEntryQuery): SqlQuery<WaitEntryPage>;
  /** The number of waits of a list from its start, up to another one. */
  countWaits(query: WaitEntryQuery, most: number): SqlQuery<number>;
  outbox(query: OutboxQuery): SqlQuery<readonly OutboxEntry[]>;
  schedules(query: ScheduleQuery): SqlQuery<ScheduleEntryPage>;
  /** The number of schedules of a list from its start. */
  countSchedules(query: ScheduleQuery): SqlQuery<number>;
  due(query: WakeQuery): SqlQuery<readonly ScheduleEntry[]>;
  audit(query: AuditQuery): SqlQuery<AuditPage>;
  spentOn(key: SpentKey): SqlQuery<Spent>;
  /** What is known, or what follows a key of it. */
  spent(query: { readonly after?: SpentKey; readonly limit: number }): SqlQuery<readonly SpentEntry[]>;
  unreferenced(things: readonly string[]): SqlQuery<readonly string[]>;
  /** Gives new runs their places in the order of creation, which a list in this order needs before. */
  readonly place: SqlQuery<void> | undefined;
  /** The texts of the statements that are always the same. */
  readonly texts: readonly string[];
}

/** A run that a search has looked at. */
export interface WalkedRun extends ListPosition {
  readonly fits: boolean;
  /** Whether the run has changed since its words were written. */
  readonly isDue: boolean;
}

export interface MatchQuery {
  /** Of the owner, if only its runs are searched. */
  readonly words: readonly string[];
  readonly most: number;
  /** Words that the runs must have besides, which are looked for in what the index has found. */
  readonly others?: readonly string[];
}

/** A run, and the id of the event with its newest output. */
export interface RunText {
  readonly run: RunEntry;
  readonly ended: number | undefined;
}

/** Writes the statements in a dialect. The texts that never change are written once. */
export function createIndexQueries(dialect: SqlDialect): IndexQueries {
  const { run, request, wait, outbox, schedule, alias, reference, audit, text: words, finish } = dialect;

  const runs = `SELECT ${run.id} AS id, ${run.node} AS node, ${run.owner} AS owner, removed, agent, status, ${run.createdAt} AS created_at,
    ${run.updatedAt} AS updated_at, turns, metadata, initial_input, run.started AS started, last_turn, usage,
    ${run.head} AS head, CASE WHEN status > 0 THEN ${run.openWaits} END AS open_waits,
    CASE WHEN status > 0 THEN ${run.queued} END AS queued, CASE WHEN status > 0 THEN ${run.wakeAt} END AS wake_at,
    ${run.alias} AS alias`;
  const requestColumns = `${request.id} AS id, ${request.run} AS run, ${request.removed} AS removed, phase,
    ${request.createdAt} AS created_at, accepted_n, accepted_after, ${request.started} AS started, segment, completed,
    ${request.wakeAt} AS wake_at, rests, waiting_for`;
  const requests = `SELECT ${requestColumns} FROM ${request.from}`;
  const listedColumns = `SELECT ${requestColumns}, agent, ${run.updatedAt} AS updated_at`;
  const listed = `${listedColumns} FROM ${request.ofRuns}`;
  const requestPlace = ["accepted_n", "accepted_after", request.id];
  const newestFirst = requestPlace.map((column) => `${column} DESC`).join();
  const waits = `SELECT ${wait.run} AS run, id, ${wait.request} AS request, ${wait.openedAt} AS opened_at`;
  const messages = `SELECT ${outbox.run} AS run, event, ${outbox.request} AS request, kind FROM ${outbox.from}`;

  const schedules = `SELECT ${schedule.run} AS run, ${schedule.owner} AS owner, ${schedule.id} AS id, due, data FROM ${schedule.from}`;

  const spent = `SELECT owner, day, tokens, cost, raised_tokens AS "raisedTokens", raised_cost AS "raisedCost" FROM ${dialect.spent}`;
  const spentOn = finish(`${spent} WHERE owner = ? AND day = ?`);
  const trail = `SELECT n, at, audit.owner AS owner, by_id, by_name, action, ${audit.run} AS run, ${audit.agent} AS agent, request,
    event, detail, times FROM ${audit.from}`;

  const oneRun = finish(`${runs} FROM ${run.from} WHERE ${run.id} = ? AND ${run.stored}`);
  const oneOwnRun = finish(
    `${runs} FROM ${run.from} WHERE ${run.id} = ? AND ${run.stored} AND ${run.owner} = ?`,
  );
  const severalRuns = finish(`${runs} FROM ${run.from} WHERE ${dialect.anyOf(run.id)} AND ${run.stored}`);
  const oneAlias = finish(
    `SELECT ${alias.run} AS run FROM ${alias.from} WHERE ${alias.agent} = ? AND ${alias.name} = ?`,
  );
  const aliasesOfRun = finish(
    `SELECT ${alias.agent} AS agent, ${alias.name} AS name FROM ${alias.from} WHERE ${alias.run} = ?
    ORDER BY ${alias.agent}, ${alias.name}`,
  );
  const referencesOfRun = finish(
    `SELECT thing FROM ${reference.from} WHERE ${reference.run} = ? ORDER BY thing`,
  );
  const referenced = finish(`SELECT DISTINCT thing FROM ${reference.things} WHERE ${dialect.anyOf("thing")}`);
  const oneRequest = finish(`${requests} WHERE ${request.id} = ?`);
  const otherRequest = finish(
    `${requests} WHERE ${request.id} > ? AND ${request.id} < ? ORDER BY ${request.id} LIMIT 1`,
  );
  const parked = finish(
    `${requests} WHERE rests IS NOT NULL AND ${request.followsRun} ORDER BY ${request.runOrder} LIMIT ?`,
  );
  const textsOfRuns = finish(
    `${runs}, ${words.ended} AS ended FROM ${run.from} WHERE ${dialect.anyOf(run.id)} AND ${run.live}`,
  );
  const ids = finish(run.byCreation.ids);
  const removedIds = finish(run.byCreation.removedIds);

  /** Leaves out the runs of nodes, in an engine for several. */
  function leaveOut(where: Conditions, column: string, { notOwnedBy = [] }: OwnerQuery): void {
    if (dialect.notOwned !== undefined && notOwnedBy.length > 0)
      where.add(dialect.notOwned(column), notOwnedBy);
  }

  /** The conditions of a list of runs, or of those up to a place. */
  function selected(query: RunEntryQuery, end?: ListPosition): Conditions {
    const { agent, owner, status, failed = false, oldestFirst = false, byCreation = false } = query;
    if (byCreation) checkNoCursor(query);
    const position = positionOf(query);
    const where = new Conditions(run.live);
    if (byCreation) where.add("agent <> ''");
    // As in the indexes of the runs of owners, which do not have those of `default`.
    if (owner === DEFAULT_OWNER) where.add(`${run.owner} = '${DEFAULT_OWNER}'`);
    else if (owner !== undefined) where.add(`${run.owner} <> '${DEFAULT_OWNER}' AND ${run.owner} = ?`, owner);
    if (failed) where.add(run.failed);
    const isOfOwner = owner !== undefined && owner !== DEFAULT_OWNER;
    const isOfBusy = status !== undefined && status !== "idle" && !isOfOwner && !byCreation && !failed;
    const isOfFew = (isOfBusy || (failed && !byCreation)) && agent !== "";
    if (agent !== undefined) where.add(`${isOfFew ? run.agentOfFew : "agent"} = ?`, agent);
    if (status !== undefined) {
      const phase = RUN_PHASES.indexOf(status);
      // Without an agent are the runs of the runtime itself, of which there are few.
      if (isOfOwner || agent === "") where.add(run.ownStatus, phase);
      else where.add(status === "idle" ? "status = ?" : run.busyStatus, phase);
    }
    const [behind, before] = oldestFirst ? [">", "<"] : ["<", ">"];
    const time = run.updatedAt;
    const add = (than: string, id: string, { updatedAt, runId }: ListPosition): void =>
      where.add(
        `${time} ${than}= ? AND (${time} ${than} ? OR ${run.id} ${id} ?)`,
        updatedAt,
        updatedAt,
        runId,
      );
    if (position !== undefined) add(behind, before, position);
    if (end !== undefined) add(before, `${behind}=`, end);
    return where;
  }

  /** The runs of a list or a count. */
  function fromOf({ failed = false, byCreation = false, agent, owner }: RunEntryQuery): string {
    if (!failed || byCreation || agent === "") return run.from;
    return owner === undefined || owner === DEFAULT_OWNER ? run.ofFailed : run.ofFailedOfOwner;
  }

  /** The conditions of the runs of a list of requests, behind a place of the list of runs and up to another one. */
  function selectedRuns(
    { owner, agent, runId, phase, updatedAfter }: Omit<RequestListQuery, "limit">,
    after?: ListPosition,
    end?: ListPosition,
  ): Conditions {
    const query: RunEntryQuery = {
      limit: 0,
      ...(owner !== undefined && { owner }),
      ...(agent !== undefined && { agent }),
      // The status of a run is the phase of its started request.
      ...(isOfStarted(phase) && runId === undefined && { status: phase }),
      ...(after !== undefined && { cursor: toListCursor(after) }),
    };
    const where = selected(query, end);
    if (runId !== undefined) where.add(`${run.id} = ?`, runId);
    if (updatedAfter !== undefined) where.add(`${run.updatedAt} >= ?`, updatedAfter);
    return where;
  }

  /** The conditions of a list of requests in these runs. */
  function selectedRequests(
    query: Omit<RequestListQuery, "limit">,
    after?: ListPosition,
    end?: ListPosition,
  ): Conditions {
    const { phase, createdBefore } = query;
    const where = selectedRuns(query, after, end);
    if (createdBefore !== undefined) where.add(`${run.createdAt} < ?`, createdBefore);
    if (isOfStarted(phase))
      where.add(`${request.id} = run.started AND ${request.startedPhase}`, REQUEST_PHASES.indexOf(phase));
    // As in the index of queued requests. The index of the runs with something to do has many that are not.
    if (phase === "queued") where.add("+status > 0 AND phase = 0");
    if (phase === "completed") where.add("phase = ?", REQUEST_PHASES.indexOf(phase));
    return where;
  }

  function orderOf({ oldestFirst = false }: RunEntryQuery): string {
    return oldestFirst ? `${run.updatedAt}, ${run.id} DESC` : `${run.updatedAt} DESC, ${run.id}`;
  }

  const place = `${run.id} AS "runId", ${run.updatedAt} AS "updatedAt"`;

  /** The conditions of a list of schedules. */
  function selectedSchedules({ owner, agent, runId, id, ...query }: ScheduleQuery): Conditions {
    const after = schedulePositionOf(query);
    const where = new Conditions("true");
    // As in the index of the schedules of owners.
    if (owner === DEFAULT_OWNER) where.add(`${schedule.owner} = '${DEFAULT_OWNER}'`);
    else if (owner !== undefined)
      where.add(`${schedule.owner} <> '${DEFAULT_OWNER}' AND ${schedule.owner} = ?`, owner);
    if (agent !== undefined) where.add(schedule.ofAgent, agent);
    if (runId !== undefined) where.add(schedule.ofRun, runId);
    if (id !== undefined) where.add(`${schedule.id} = ?`, id);
    if (after !== undefined) where.add(schedule.follows, after.runId, after.id);
    return where;
  }

  /** The conditions of a list of waits. */
  function selectedWaits({ agent, owner, runId, requestId }: Omit<WaitEntryQuery, "limit">): Conditions {
    const where = new Conditions("true");
    // The waits of a run, and of its owner, are fewer than those of the agent.
    const isOfFew = runId !== undefined || (owner !== undefined && owner !== DEFAULT_OWNER);
    if (agent !== undefined) where.add(`${wait.agent}${isOfFew ? " || ''" : ""} = ?`, agent);
    if (runId !== undefined) where.add(wait.ofRun, runId);
    if (owner === DEFAULT_OWNER) where.add(`NOT ${wait.isOwned}`);
    // The waits of a run are fewer than those of its owner, whose index an expression of its own keeps from being used.
    else if (owner !== undefined && runId !== undefined) where.add(`${wait.owner} || '' = ?`, owner);
    else if (owner !== undefined) where.add(`${wait.isOwned} AND ${wait.owner} = ?`, owner);
    if (requestId !== undefined)
      where.add(
        `(${wait.request} = ? OR ${wait.request} > ? AND ${wait.request} < ?)`,
        requestId,
        ...otherOwners(requestId),
      );
    return where;
  }

  /** Counts rows up to a number. */
  function counted(from: string, where: Conditions, order: string, most: number): SqlQuery<number> {
    const isBounded = most < Infinity;
    const text = isBounded
      ? `SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${where.text} ORDER BY ${order} LIMIT ?) AS counted`
      : `SELECT count(*) AS n FROM ${from} WHERE ${where.text}`;
    const values = isBounded ? [...where.values, most] : where.values;
    return toQuery(finish(text), values, ([row]: readonly { readonly n: number }[]) => row?.n ?? 0);
  }

  /** The place of the run that is so many behind the start of a list. */
  function placeIn(
    from: string,
    where: Conditions,
    order: string,
    count: number,
  ): SqlQuery<ListPosition | undefined> {
    const text = `SELECT ${place} FROM ${from} WHERE ${where.text} ORDER BY ${order} LIMIT 1 OFFSET ?`;
    return one(finish(text), [...where.values, count - 1], (row: ListPosition) => ({ ...row }));
  }

  return {
    run: (runId, owner) =>
      owner === undefined ? one(oneRun, [runId], toRun) : one(oneOwnRun, [runId, owner], toRun),
    rows: (runIds) => all(severalRuns, [runIds], toRun),
    find: ({ owner, agent, name }) =>
      one(oneAlias, [toOwnedKey(agent, owner), name], (row: { readonly run: RunId }) => row.run),
    list(query, end) {
      const { limit, offset = 0, byCreation = false, metadata = {} } = query;
      const where = selected(query, end);
      for (const [name, text] of Object.entries(metadata)) {
        const holds = dialect.holds("metadata");
        where.add(`(${holds} OR ${holds})`, ...storedForms(name, text));
      }
      const from = byCreation ? run.byCreation.from : fromOf(query);
      if (byCreation) where.add(run.byCreation.placed);
      // The runs of an owner are sorted; in the order of their creation they stand among those of all others.
      const isSorted = query.owner !== undefined && query.owner !== DEFAULT_OWNER;
      const byPlace = isSorted ? `${run.byCreation.order} + 0` : run.byCreation.order;
      const order = byCreation ? byPlace : orderOf(query);
      const text = `${runs} FROM ${from} WHERE ${where.text} ORDER BY ${order} LIMIT ? OFFSET ?`;
      // One row more than requested shows whether there is a next page.
      return toQuery(finish(text), [...where.values, limit + 1, offset], (rows: readonly RunColumns[]) => {
        const page = rows.slice(0, limit).map(toRun);
        const last = page.at(-1);
        const more = rows.length > limit && !byCreation;
        return { runs: page, ...(more && last !== undefined && { next: toListCursor(last) }) };
      });
    },
    placeAt: (query, count) => placeIn(fromOf(query), selected(query), orderOf(query), count),
    walk(query, searched, size) {
      const where = selected(query);
      const fits = words.fits(searched);
      const text = `SELECT ${place}, ${words.isDue} AS "isDue", ${fits.text} AS fits
        FROM ${run.from} WHERE ${where.text} ORDER BY ${orderOf(query)} LIMIT ?`;
      return all(finish(text), [...fits.values, ...where.values, size], (row: WalkedRow) => ({
        ...row,
        isDue: Boolean(row.isDue),
        fits: Boolean(row.fits),
      }));
    },
    areTextsBehind:
      words.isBehind === undefined
        ? undefined
        : toQuery(words.isBehind, [], ([row]: readonly { readonly behind: number }[]) => row?.behind === 1),
    dueTexts(query, limit) {
      const where = selected(query);
      const text = `SELECT ${place} FROM ${words.due} WHERE ${where.text} LIMIT ?`;
      return all(finish(text), [...where.values, limit], (row: ListPosition) => ({ ...row }));
    },
    matching(query, { words: searched, most, others = [] }) {
      const [hit, isHit] = [words.matching(searched, others, most + 1), words.isMatching(others)];
      const where = selected(query);
      // The first row has the number of runs that the index has found.
      const text = `WITH hit AS MATERIALIZED (${hit.text})
        SELECT NULL AS "runId", count(*) AS "updatedAt" FROM hit
        UNION ALL SELECT * FROM (SELECT ${place} FROM ${run.from} WHERE ${isHit.text} AND ${where.text}
          ORDER BY ${orderOf(query)} LIMIT ?) AS found`;
      const values = [...hit.values, ...isHit.values, ...where.values, query.limit];
      return toQuery(finish(text), values, ([hits, ...found]: readonly ListPosition[]) =>
        Number(hits?.updatedAt) > most ? undefined : found.map((row) => ({ ...row })),
      );
    },
    textsOf: (runIds) =>
      all(textsOfRuns, [runIds], ({ ended, ...row }: RunColumns & { readonly ended: number | null }) => ({
        run: toRun(row),
        ended: ended ?? undefined,
      })),
    count({ cursor: _cursor, ...query }, most) {
      const where = selected(query);
      // In the order of an index, which has only the runs that are counted.
      return counted(fromOf(query), where, orderOf({ ...query, oldestFirst: true }), most);
    },
    runIds: ({ removed = false, after = "", limit }) =>
      all(removed ? removedIds : ids, [after, limit], (row: { readonly id: RunId }) => row.id),
    aliases: (runId) =>
      all(aliasesOfRun, [runId], ({ agent: key, name }: RunAlias) => {
        const { name: agent, ...owned } = fromOwnedKey(key);
        return { agent, name, ...owned };
      }),
    references: (runId) => all(referencesOfRun, [runId], ({ thing }: Thing) => thing),
    lookup: (requestId, owner) => one(oneRequest, [toOwnedKey(requestId, owner)], toRequest),
    lookupOther: (requestId) => one(otherRequest, otherOwners(requestId), toRequest),
    requests({ runId, limit, oldestFirst = false, after, removed = false }) {
      const [direction, behind] = oldestFirst ? ["ASC", ">"] : ["DESC", "<"];
      const where = new Conditions(`${request.run} = ?`, runId);
      if (!removed) where.add(request.live);
      if (after !== undefined) {
        where.add(
          `(${requestPlace.join()}) ${behind} (${request.placeOf})`,
          runId,
          after,
          ...otherOwners(after),
        );
      }
      const order = requestPlace.map((column) => `${column} ${direction}`).join();
      const text = finish(`${requests} WHERE ${where.text} ORDER BY ${order} LIMIT ?`);
      return all(text, [...where.values, limit], toRequest);
    },
    restOfRun(query) {
      const after = requestPositionOf(query);
      if (after?.requestId === undefined) return undefined;
      const { runId, requestId, updatedAt } = after;
      if (query.runId !== undefined && query.runId !== runId) return undefined;
      const where = selectedRequests({ ...query, runId });
      where.add(
        `(${requestPlace.join()}) < (${request.placeOf})`,
        runId,
        requestId,
        ...otherOwners(requestId),
      );
      const text = finish(`${listed} WHERE ${where.text} ORDER BY ${newestFirst} LIMIT ?`);
      // The run may have moved in the list since; the next page goes on behind the place that it had.
      return all(text, [...where.values, query.limit + 1], (row: ListedRequestColumns) => ({
        ...toListedRequest(row),
        updatedAt,
      }));
    },
    placeOfRequests(query, count) {
      const where = selectedRuns(query, requestPositionOf(query));
      return placeIn(run.from, where, orderOf({ limit: 0 }), count);
    },
    requestsOfRuns(query, end) {
      const where = selectedRequests(query, requestPositionOf(query), end);
      // Few requests are queued: sorting these reads less than all runs in their order.
      const isSorted =
        query.phase === "queued" && (query.owner === undefined || query.owner === DEFAULT_OWNER);
      const time = isSorted ? `${run.updatedAt} + 0` : run.updatedAt;
      const inRun = isOfStarted(query.phase) ? "" : `, ${newestFirst}`;
      const order = `${time} DESC, ${request.ofRunsOrder}${inRun}`;
      const ofRuns = isOfStarted(query.phase) ? request.ofStarted : request.ofRuns;
      const from = isSorted && query.runId === undefined ? request.ofQueued : ofRuns;
      const text = finish(`${listedColumns} FROM ${from} WHERE ${where.text} ORDER BY ${order} LIMIT ?`);
      return all(text, [...where.values, query.limit + 1], toListedRequest);
    },
    open(query) {
      // A request that blocks others is found through its run, where it is the started one.
      const where = new Conditions(`phase < 2 AND ${request.wakeAt} IS NULL AND waiting_for IS NULL
        AND NOT (phase = 0 AND ${request.isBlocked})`);
      leaveOut(where, request.run, query);
      const text = finish(`${requests} WHERE ${where.text} ORDER BY ${request.createdAt}, ${request.id}`);
      return all(text, where.values, toRequest);
    },
    waking({ after = 0, notAfter = Number.MAX_SAFE_INTEGER, limit, ...query }) {
      const where = new Conditions(`${request.wakeAt} > ? AND ${request.wakeAt} <= ?`, after, notAfter);
      leaveOut(where, request.run, query);
      const text = `${requests} WHERE ${where.text} ORDER BY ${request.wakeAt}`;
      return limit === undefined
        ? all(finish(text), where.values, toRequest)
        : all(finish(`${text} LIMIT ?`), [...where.values, limit], toRequest);
    },
    parked: ({ after = "", limit }) => all(parked, [after, limit], toRequest),
    waits(query) {
      const after = waitPositionOf(query);
      const where = selectedWaits(query);
      const order = `${wait.openedAt}, ${wait.run}, id`;
      if (after !== undefined) {
        const { openedAt, runId: last, waitId } = after;
        where.add(`${wait.openedAt} >= ? AND (${order}) > (?, ?, ?)`, openedAt, openedAt, last, waitId);
      }
      const text = finish(`${waits} FROM ${wait.from} WHERE ${where.text} ORDER BY ${order} LIMIT ?`);
      // One row more than requested shows whether there is a next page.
      return toQuery(text, [...where.values, query.limit + 1], (rows: readonly WaitColumns[]) =>
        toWaitPage(rows.map(toWait), query),
      );
    },
    countWaits: ({ cursor: _cursor, ...query }, most) =>
      counted(wait.alone, selectedWaits(query), wait.openedAt, most),
    outbox({ runId, kind, newest, ...query }) {
      const where = new Conditions(`kind ${kind === undefined ? "<>" : "="} ${OUTBOX_KINDS.indexOf("dead")}`);
      if (runId !== undefined) where.add(`${outbox.run} = ?`, runId);
      leaveOut(where, outbox.run, query);
      const order =
        newest === undefined
          ? `${outbox.order}, event, ${outbox.request}`
          : `${outbox.newestFirst}, event DESC, ${outbox.request} LIMIT ?`;
      const text = finish(`${messages} WHERE ${where.text} ORDER BY ${order}`);
      return all(text, newest === undefined ? where.values : [...where.values, newest], toOutbox);
    },
    schedules(query) {
      const where = selectedSchedules(query);
      const text = finish(`${schedules} WHERE ${where.text} ORDER BY ${schedule.order} LIMIT ?`);
      // One row more than requested shows whether there is a next page.
      return toQuery(text, [...where.values, query.limit + 1], (rows: readonly ScheduleColumns[]) =>
        toSchedulePage(rows.map(toSchedule), query),
      );
    },
    countSchedules({ cursor: _cursor, ...query }) {
      const where = selectedSchedules(query);
      return counted(schedule.from, where, schedule.order, Infinity);
    },
    due({ after = 0, notAfter = Number.MAX_SAFE_INTEGER, limit, ...query }) {
      const where = new Conditions("due > ? AND due <= ?", after, notAfter);
      leaveOut(where, schedule.run, query);
      const text = `${schedules} WHERE ${where.text} ORDER BY due, ${schedule.order}`;
      return limit === undefined
        ? all(finish(text), where.values, toSchedule)
        : all(finish(`${text} LIMIT ?`), [...where.values, limit], toSchedule);
    },
    spentOn: ({ day, ...key }) =>
      toQuery(spentOn, [toSpender(key), day], ([row]: readonly SpentColumns[]) => {
        if (row === undefined) return NOTHING_SPENT;
        const { owner: _owner, day: _day, ...amounts } = row;
        return amounts;
      }),
    spent({ after, limit }) {
      const where = new Conditions("true");
      if (after !== undefined) where.add("(owner, day) > (?, ?)", toSpender(after), after.day);
      const text = finish(`${spent} WHERE ${where.text} ORDER BY owner, day LIMIT ?`);
      return toQuery(text, [...where.values, limit], (rows: readonly SpentColumns[]) =>
        rows.map(({ owner, ...row }): SpentEntry => ({ ...fromSpender(owner), ...row })),
      );
    },
    audit(query) {
      const { owner, by, action, runId, from, before, oldestFirst = false, limit } = query;
      const place = auditPlaceOf(query);
      const [direction, behind] = oldestFirst ? ["ASC", ">"] : ["DESC", "<"];
      const where = new Conditions("true");
      // As in the indexes of the trail.
      if (owner === DEFAULT_OWNER) where.add(`audit.owner = '${DEFAULT_OWNER}'`);
      else if (owner !== undefined) where.add(`audit.owner <> '${DEFAULT_OWNER}' AND audit.owner = ?`, owner);
      if (by !== undefined) where.add("by_id = ?", by);
      const isOfOne = owner !== undefined && owner !== DEFAULT_OWNER;
      if (action === "process") where.add("action = 0");
      else if (action !== undefined && isOfOne) where.add("+action = ?", AUDIT_ACTIONS.indexOf(action));
      else if (action !== undefined) where.add("action > 0 AND action = ?", AUDIT_ACTIONS.indexOf(action));
      if (runId !== undefined) where.add(audit.ofRun, runId);
      if (from !== undefined) where.add("at >= ?", from);
      if (before !== undefined) where.add("at < ?", before);
      if (place !== undefined)
        where.add(`at ${behind}= ? AND (at, n) ${behind} (?, ?)`, place.at, place.at, place.n);
      const text = finish(`${trail} WHERE ${where.text} ORDER BY at ${direction}, n ${direction} LIMIT ?`);
      // One row more than requested shows whether there is a next page.
      return toQuery(text, [...where.values, limit + 1], (rows: readonly AuditColumns[]) =>
        toAuditPage(rows.map(toAuditEntry), query),
      );
    },
    ...statisticsQueries(dialect),
    unreferenced: (things) =>
      toQuery(referenced, [things], (rows: readonly Thing[]) => {
        const used = new Set(rows.map(({ thing }) => thing));
        return things.filter((thing) => !used.has(thing));
      }),
    place: run.byCreation.place === undefined ? undefined : toQuery(run.byCreation.place, [], () => {}),
    texts: [
      oneRun,
      oneOwnRun,
      severalRuns,
      oneAlias,
      otherRequest,
      aliasesOfRun,
      referencesOfRun,
      referenced,
      oneRequest,
      parked,
      textsOfRuns,
      ids,
      removedIds,
    ],
  };
}

/** Whether requests of a phase have started and not ended: a run has one of them at most. */
function isOfStarted(phase: RequestPhase | undefined): phase is "running" | "waiting" | "held" {
  return phase === "running" || phase === "waiting" || phase === "held";
}

/** How a value that people write as a text can stand in stored metadata: as that text, or as a number or something else of JSON. */
function storedForms(name: string, text: string): readonly [string, string] {
  const key = `${JSON.stringify(name)}:`;
  const quoted = key + JSON.stringify(text);
  return [quoted, isPlainJson(text) ? key + text : quoted];
}

function isPlainJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value !== "string" && JSON.stringify(value) === text;
  } catch {
    return false;
  }
}

interface WalkedRow extends ListPosition {
  readonly isDue: boolean | number;
  readonly fits: boolean | number | null;
}

interface Thing {
  readonly thing: string;
}

function one<Answer>(
  text: string,
  values: readonly QueryValue[],
  toAnswer: (row: never) => Answer,
): SqlQuery<Answer | undefined> {
  return toQuery(text, values, ([row]) => row && toAnswer(row));
}

function all<Answer>(
  text: string,
  values: readonly QueryValue[],
  toAnswer: (row: never) => Answer,
): SqlQuery<readonly Answer[]> {
  return toQuery(text, values, (rows) => rows.map((row) => toAnswer(row)));
}
