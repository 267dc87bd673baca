import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  OutboxEntry,
  RequestEntry,
  RunAlias,
  RunEntry,
  RunPage,
  WaitEntry,
  WaitPage,
} from "../../../ports/event-log.ts";
import type {
  OutboxQuery,
  RequestQuery,
  RunQuery,
  SleepQuery,
  WaitQuery,
} from "../../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Usage } from "../../../protocol/events/events.ts";
import type { LastTurn, WaitingFor } from "../../../protocol/answers/status.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import { toRemovedRequest } from "../../shared/request-entry.ts";
import { checkNoCursor, positionOf, toListCursor, toRemovedEntry } from "../../shared/run-list.ts";
import { toWaitPage, waitPositionOf } from "../../shared/wait-list.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "../format/schema.ts";

export interface Rows {
  run(runId: RunId): RunEntry | undefined;
  find(alias: RunAlias): RunId | undefined;
  list(query: RunQuery): RunPage;
  lookup(requestId: RequestId): RequestEntry | undefined;
  requests(query: RequestQuery): readonly RequestEntry[];
  open(): readonly RequestEntry[];
  asleep(query: SleepQuery): readonly RequestEntry[];
  resting(): readonly RequestEntry[];
  waits(query: WaitQuery): WaitPage;
  outbox(query: OutboxQuery): readonly OutboxEntry[];
  /** What a run refers to outside the log. */
  references(rid: number): readonly string[];
  isReferenced(thing: string): boolean;
}

/** Finds runs and requests in a database. */
export function createRows(database: DatabaseSync): Rows {
  const oneRun = database.prepare(`SELECT ${RUN} WHERE run_id = ?`);
  const oneAlias = database.prepare(
    "SELECT run_id FROM alias JOIN run ON run.rid = alias.rid WHERE alias.agent = ? AND alias = ?",
  );
  const oneRequest = database.prepare(`SELECT ${REQUEST} WHERE request_id = ?`);
  const requestsOfRun = database.prepare(`SELECT ${REQUEST}
    WHERE run_id = ? AND removed = 0 ORDER BY accepted_n DESC, accepted_after DESC LIMIT ?`);
  // A request that blocks others is found through its run, where it is the started one.
  const openRequests = database.prepare(`SELECT ${REQUEST}
    WHERE phase < 2 AND wake IS NULL AND waiting_for IS NULL AND NOT (phase = 0 AND EXISTS
      (SELECT 1 FROM request AS other WHERE other.rid = request.rid AND other.phase IN (1, 2)))
    ORDER BY request.created, request_id`);
  const sleeping = database.prepare(`SELECT ${REQUEST} WHERE wake > ? AND wake <= ? ORDER BY wake LIMIT ?`);
  const resting = database.prepare(`SELECT ${REQUEST} WHERE rests IS NOT NULL`);
  const outbox = database.prepare(`SELECT ${OUTBOX} ORDER BY outbox.rid, event`);
  const outboxOfRun = database.prepare(`SELECT ${OUTBOX} WHERE run_id = ? ORDER BY event`);
  const references = database.prepare("SELECT thing FROM reference WHERE rid = ?");
  const oneReference = database.prepare("SELECT 1 FROM reference WHERE thing = ? LIMIT 1");
  const lists = new Map<string, StatementSync>();

  function listStatement(sql: string): StatementSync {
    const known = lists.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    lists.set(sql, statement);
    return statement;
  }

  function count(query: RunQuery): number {
    const { where, values } = toListSql(withoutCursor(query));
    return Number(listStatement(`SELECT count(*) AS n FROM run WHERE ${where}`).get(...values)?.["n"]);
  }

  return {
    run(runId) {
      const row = oneRun.get(runId) as RunRow | undefined;
      return row && toRun(row);
    },
    find: ({ agent, name }) => oneAlias.get(agent, name)?.["run_id"] as RunId | undefined,
    list(query) {
      const { limit, offset = 0, byCreation = false, total = false } = query;
      const { where, order, values } = toListSql(query);
      const page = listStatement(`SELECT ${RUN} WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`);
      // One row more than requested shows whether there is a next page.
      const rows = page.all(...values, limit + 1, offset) as unknown as RunRow[];
      const runs = rows.slice(0, limit).map(toRun);
      const last = runs.at(-1);
      const more = rows.length > limit && !byCreation;
      return {
        runs,
        ...(more && last !== undefined && { next: toListCursor(last) }),
        ...(total && { total: count(query) }),
      };
    },
    lookup(requestId) {
      const row = oneRequest.get(requestId) as RequestRow | undefined;
      return row && toRequest(row);
    },
    requests: ({ runId, limit }) =>
      (requestsOfRun.all(runId, limit) as unknown as RequestRow[]).map(toRequest),
    open: () => (openRequests.all() as unknown as RequestRow[]).map(toRequest),
    asleep({ after = 0, notAfter = Number.MAX_SAFE_INTEGER, limit = -1 }) {
      return (sleeping.all(after, notAfter, limit) as unknown as RequestRow[]).map(toRequest);
    },
    resting: () => (resting.all() as unknown as RequestRow[]).map(toRequest),
    waits(query) {
      const { where, values } = toWaitsSql(query);
      const page = listStatement(`SELECT ${WAIT} WHERE ${where} ORDER BY opened, run_id, id LIMIT ?`);
      // One row more than requested shows whether there is a next page.
      const rows = page.all(...values, query.limit + 1) as unknown as WaitRow[];
      return toWaitPage(rows.map(toWait), query);
    },
    outbox({ runId }) {
      const rows = runId === undefined ? outbox.all() : outboxOfRun.all(runId);
      return (rows as unknown as OutboxRow[]).map(toOutbox);
    },
    references: (rid) => references.all(rid).map(({ thing }) => String(thing)),
    isReferenced: (thing) => oneReference.get(thing) !== undefined,
  };
}

const RUN = `run_id, removed, agent, status, created, updated, turns, metadata, initial_input, run.started,
  last_turn, usage,
  CASE WHEN status > 0 THEN (SELECT count(*) FROM wait WHERE wait.rid = run.rid) END AS open_waits,
  CASE WHEN status > 0 THEN (SELECT count(*) FROM request WHERE request.rid = run.rid AND phase = 0) END AS queued,
  CASE WHEN status > 0 THEN (SELECT wake FROM request WHERE request_id = run.started) END AS wake,
  (SELECT alias FROM alias WHERE alias.rid = run.rid ORDER BY alias LIMIT 1) AS alias,
  (SELECT last FROM chunk WHERE chunk.rid = run.rid ORDER BY last DESC LIMIT 1) AS head
  FROM run`;

const REQUEST = `request_id, run_id, removed, phase, request.created, accepted_n, accepted_after,
  request.started, segment, completed, wake, rests, waiting_for
  FROM request JOIN run ON run.rid = request.rid`;

const WAIT = "run_id, id, request_id, opened FROM wait JOIN run ON run.rid = wait.rid";

const OUTBOX = "run_id, event, request_id, kind FROM outbox JOIN run ON run.rid = outbox.rid";

interface RunRow {
  readonly run_id: RunId;
  readonly removed: number;
  readonly agent: string;
  readonly status: number;
  readonly created: number;
  readonly updated: number;
  readonly turns: number;
  readonly metadata: string;
  readonly initial_input: string;
  readonly started: RequestId | null;
  readonly last_turn: string | null;
  readonly usage: string | null;
  readonly alias: string | null;
  readonly head: number | null;
  readonly open_waits: number | null;
  readonly queued: number | null;
  readonly wake: number | null;
}

function toRun(row: RunRow): RunEntry {
  if (row.removed > 0) return toRemovedEntry(row.run_id);
  return {
    runId: row.run_id,
    head: row.head ?? 0,
    agent: row.agent,
    status: RUN_PHASES[row.status] ?? "idle",
    createdAt: row.created,
    updatedAt: row.updated,
    turns: row.turns,
    initialInput: JSON.parse(row.initial_input) as Json,
    metadata: JSON.parse(row.metadata) as JsonObject,
    ...(row.started !== null && { started: row.started }),
    ...(row.last_turn !== null && { lastTurn: JSON.parse(row.last_turn) as LastTurn }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.alias !== null && { alias: row.alias }),
    ...(row.open_waits !== null && row.open_waits > 0 && { openWaits: row.open_waits }),
    ...(row.queued !== null && row.queued > 0 && { queued: row.queued }),
    ...(row.wake !== null && { wakeAt: row.wake }),
  };
}

interface RequestRow {
  readonly request_id: RequestId;
  readonly run_id: RunId;
  readonly removed: number;
  readonly phase: number;
  readonly created: number;
  readonly accepted_n: number;
  readonly accepted_after: number;
  readonly started: number | null;
  readonly segment: number | null;
  readonly completed: number | null;
  readonly wake: number | null;
  readonly rests: string | null;
  readonly waiting_for: string | null;
}

function toRequest(row: RequestRow): RequestEntry {
  if (row.removed > 0) return toRemovedRequest(row.request_id, row.run_id);
  return {
    requestId: row.request_id,
    runId: row.run_id,
    phase: REQUEST_PHASES[row.phase] ?? "queued",
    createdAt: row.created,
    accepted: { n: row.accepted_n, after: row.accepted_after },
    ...(row.started !== null && { started: row.started }),
    ...(row.segment !== null && { segment: row.segment }),
    ...(row.completed !== null && { completed: row.completed }),
    ...(row.wake !== null && { wakeAt: row.wake }),
    ...(row.rests !== null && { rests: JSON.parse(row.rests) as RequestId[] }),
    ...(row.waiting_for !== null && { waitingFor: JSON.parse(row.waiting_for) as WaitingFor }),
  };
}

interface WaitRow {
  readonly run_id: RunId;
  readonly id: number;
  readonly request_id: RequestId;
  readonly opened: number;
}

function toWait({ run_id: runId, id: waitId, request_id: requestId, opened: openedAt }: WaitRow): WaitEntry {
  return { runId, waitId, requestId, openedAt };
}

function toWaitsSql(query: WaitQuery) {
  const { agent, runId, requestId } = query;
  const after = waitPositionOf(query);
  const conditions = ["removed = 0"];
  const values: (string | number)[] = [];
  if (agent !== undefined) {
    conditions.push("agent = ?");
    values.push(agent);
  }
  if (runId !== undefined) {
    conditions.push("wait.rid = (SELECT rid FROM run WHERE run_id = ?)");
    values.push(runId);
  }
  if (requestId !== undefined) {
    conditions.push("request_id = ?");
    values.push(requestId);
  }
  if (after !== undefined) {
    conditions.push("opened >= ? AND (opened, run_id, id) > (?, ?, ?)");
    values.push(after.openedAt, after.openedAt, after.runId, after.waitId);
  }
  return { where: conditions.join(" AND "), values };
}

interface OutboxRow {
  readonly run_id: RunId;
  readonly event: number;
  readonly request_id: RequestId;
  readonly kind: number;
}

function toOutbox({ run_id: runId, event, request_id: requestId, kind }: OutboxRow): OutboxEntry {
  return { runId, requestId, kind: OUTBOX_KINDS[kind] ?? "reply", event };
}

/** Each combination of filters is its own SQL text, so that SQLite uses the matching index. */
function toListSql(query: RunQuery) {
  const { agent, status, oldestFirst = false, byCreation = false } = query;
  if (byCreation) checkNoCursor(query);
  const position = positionOf(query);
  const conditions = ["removed = 0"];
  const values: (string | number)[] = [];
  if (byCreation) conditions.push("agent <> ''");
  if (agent !== undefined) {
    conditions.push("agent = ?");
    values.push(agent);
  }
  if (status !== undefined) {
    conditions.push(status === "idle" ? "status = ?" : "status > 0 AND status = ?");
    values.push(RUN_PHASES.indexOf(status));
  }
  if (position !== undefined) {
    const { updatedAt, runId } = position;
    conditions.push(
      oldestFirst
        ? "updated >= ? AND (updated > ? OR run_id < ?)"
        : "updated <= ? AND (updated < ? OR run_id > ?)",
    );
    values.push(updatedAt, updatedAt, runId);
  }
  const order = oldestFirst ? "updated, run_id DESC" : "updated DESC, run_id";
  return { where: conditions.join(" AND "), order: byCreation ? "rid" : order, values };
}

/** The same list from its start. */
function withoutCursor({ cursor: _cursor, ...query }: RunQuery): RunQuery {
  return query;
}
