import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Holdings } from "../../../ports/event-log.ts";
import type { OutboxEntry, RequestEntry, RunEntry, RunPage, WaitPage } from "../../../ports/log-entries.ts";
import type { RunAlias } from "../../../ports/log-batch.ts";
import type {
  OutboxQuery,
  RequestQuery,
  RunIdQuery,
  RunQuery,
  RestingQuery,
  SleepQuery,
  WaitQuery,
} from "../../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import { toListCursor, toWaitPage } from "../../shared/lists.ts";
import { toListSql, toRequestsSql, toWaitsSql } from "./list-sql.ts";
import { OUTBOX, REQUEST, RUN, toOutbox, toRequest, toRun, toWait, WAIT } from "./row-types.ts";
import type { OutboxRow, RequestRow, RunRow, WaitRow } from "./row-types.ts";

export interface Rows {
  run(runId: RunId): RunEntry | undefined;
  find(alias: RunAlias): RunId | undefined;
  list(query: RunQuery): RunPage;
  runIds(query: RunIdQuery): readonly RunId[];
  holdings(runId: RunId): Holdings;
  lookup(requestId: RequestId): RequestEntry | undefined;
  requests(query: RequestQuery): readonly RequestEntry[];
  open(): readonly RequestEntry[];
  asleep(query: SleepQuery): readonly RequestEntry[];
  resting(query: RestingQuery): readonly RequestEntry[];
  waits(query: WaitQuery): WaitPage;
  outbox(query: OutboxQuery): readonly OutboxEntry[];
  isReferenced(thing: string): boolean;
}

/** Finds runs and requests in a database. */
export function createRows(database: DatabaseSync): Rows {
  const oneRun = database.prepare(`SELECT ${RUN} WHERE run_id = ?`);
  const oneAlias = database.prepare(
    "SELECT run_id FROM alias JOIN run ON run.rid = alias.rid WHERE alias.agent = ? AND alias = ?",
  );
  const oneRequest = database.prepare(`SELECT ${REQUEST} WHERE request_id = ?`);
  const runIds = database.prepare(`SELECT run_id FROM run
    WHERE (removed > 0) = ? AND rid > coalesce((SELECT rid FROM run WHERE run_id = ?), 0) ORDER BY rid LIMIT ?`);
  const aliasesOfRun = database.prepare(`SELECT alias.agent, alias AS name FROM alias JOIN run USING (rid)
    WHERE run_id = ? ORDER BY alias.agent, alias`);
  const referencesOfRun = database.prepare(
    "SELECT thing FROM reference JOIN run USING (rid) WHERE run_id = ? ORDER BY thing",
  );
  // A request that blocks others is found through its run, where it is the started one.
  const openRequests = database.prepare(`SELECT ${REQUEST}
    WHERE phase < 2 AND wake IS NULL AND waiting_for IS NULL AND NOT (phase = 0 AND EXISTS
      (SELECT 1 FROM request AS other WHERE other.rid = request.rid AND other.phase IN (1, 2)))
    ORDER BY request.created, request_id`);
  const sleeping = database.prepare(`SELECT ${REQUEST} WHERE wake > ? AND wake <= ? ORDER BY wake LIMIT ?`);
  const resting = database.prepare(`SELECT ${REQUEST} WHERE rests IS NOT NULL
    AND request.rid > coalesce((SELECT rid FROM run WHERE run_id = ?), 0) ORDER BY request.rid LIMIT ?`);
  const outbox = database.prepare(`SELECT ${OUTBOX} ORDER BY outbox.rid, event`);
  const outboxOfRun = database.prepare(`SELECT ${OUTBOX} WHERE run_id = ? ORDER BY event`);
  const oneReference = database.prepare("SELECT 1 FROM reference WHERE thing = ? LIMIT 1");
  const lists = new Map<string, StatementSync>();

  function listStatement(sql: string): StatementSync {
    const known = lists.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    lists.set(sql, statement);
    return statement;
  }

  /** The number of runs of a list from its start. */
  function count({ cursor: _cursor, ...query }: RunQuery): number {
    const { where, values } = toListSql(query);
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
    runIds({ removed = false, after = "", limit }) {
      return runIds.all(Number(removed), after, limit).map((row) => row["run_id"] as RunId);
    },
    holdings: (runId) => ({
      aliases: aliasesOfRun
        .all(runId)
        .map(({ agent, name }) => ({ agent: String(agent), name: String(name) })),
      references: referencesOfRun.all(runId).map(({ thing }) => String(thing)),
    }),
    lookup(requestId) {
      const row = oneRequest.get(requestId) as RequestRow | undefined;
      return row && toRequest(row);
    },
    requests(query) {
      const { where, order, values } = toRequestsSql(query);
      const page = listStatement(`SELECT ${REQUEST} WHERE ${where} ORDER BY ${order} LIMIT ?`);
      return (page.all(...values, query.limit) as unknown as RequestRow[]).map(toRequest);
    },
    open: () => (openRequests.all() as unknown as RequestRow[]).map(toRequest),
    asleep({ after = 0, notAfter = Number.MAX_SAFE_INTEGER, limit = -1 }) {
      return (sleeping.all(after, notAfter, limit) as unknown as RequestRow[]).map(toRequest);
    },
    resting: ({ after = "", limit }) => (resting.all(after, limit) as unknown as RequestRow[]).map(toRequest),
    waits(query) {
      const { where, order, values } = toWaitsSql(query);
      const page = listStatement(`SELECT ${WAIT} WHERE ${where} ORDER BY ${order} LIMIT ?`);
      // One row more than requested shows whether there is a next page.
      const rows = page.all(...values, query.limit + 1) as unknown as WaitRow[];
      return toWaitPage(rows.map(toWait), query);
    },
    outbox({ runId }) {
      const rows = runId === undefined ? outbox.all() : outboxOfRun.all(runId);
      return (rows as unknown as OutboxRow[]).map(toOutbox);
    },
    isReferenced: (thing) => oneReference.get(thing) !== undefined,
  };
}
