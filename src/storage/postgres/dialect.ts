import { TURN_FAILED } from "./schema/list-indexes.ts";
import { REQUEST_IS_OWNED, REQUEST_OWNER } from "./schema/owners.ts";
import type { SqlDialect } from "../sql/dialect.ts";

/** The tables of schema/tables.ts. */
export const POSTGRES: SqlDialect = {
  run: {
    from: "troupe.run",
    id: "run.id",
    node: "owner",
    owner: "belongs_to",
    createdAt: "run.created_at",
    updatedAt: "updated_at",
    // It knows how many there are.
    agentOfFew: "agent",
    head: "head + coalesce((SELECT count FROM troupe.recent WHERE recent.run = run.id), 0)",
    stored: "stored",
    live: "stored AND NOT run.removed",
    failed: TURN_FAILED,
    ofFailed: "troupe.run",
    ofFailedOfOwner: "troupe.run",
    // It knows the value, and would take two conditions for rarer than one.
    busyStatus: "status = ?",
    // The planner does not know that it is not 0, as in the index of the runs with something to do.
    ownStatus: "status = (SELECT ?::smallint)",
    openWaits: "(SELECT count(*) FROM troupe.wait WHERE wait.run = run.id)",
    queued: "(SELECT count(*) FROM troupe.request WHERE request.run = run.id AND phase = 0)",
    wakeAt: "(SELECT wake_at FROM troupe.request WHERE request.id = run.started)",
    alias: "(SELECT min(name) FROM troupe.alias WHERE alias.run = run.id)",
    byCreation: {
      from: "troupe.creation JOIN troupe.run ON run.id = creation.run",
      order: "place",
      placed: "place IS NOT NULL",
      place: "SELECT troupe.place_new_1()",
      ids: `SELECT run AS id FROM troupe.creation
        WHERE place > coalesce((SELECT place FROM troupe.creation WHERE run = $1), 0) ORDER BY place LIMIT $2`,
      removedIds: "SELECT id FROM troupe.run WHERE removed AND id > $1 ORDER BY id LIMIT $2",
    },
  },
  request: {
    from: "troupe.request",
    ofRuns: "troupe.run JOIN troupe.request ON request.run = run.id",
    ofStarted: "troupe.run JOIN troupe.request ON request.id = run.started",
    // The planner would take those that have it too for few, and read them all.
    startedPhase: "CASE WHEN phase = ? THEN true END",
    ofQueued: "troupe.run JOIN troupe.request ON request.run = run.id",
    ofRunsOrder: "run.id",
    id: "request.id",
    run: "request.run",
    createdAt: "request.created_at",
    started: "request.started",
    wakeAt: "request.wake_at",
    removed: "request.removed",
    live: "NOT request.removed",
    isBlocked:
      "EXISTS (SELECT FROM troupe.request AS other WHERE other.run = request.run AND other.phase IN (1, 2, 4))",
    runOrder: "request.run",
    followsRun: "request.run > ?",
    placeOf: `SELECT accepted_n, accepted_after, id FROM troupe.request
      WHERE run = ? AND (id = ? OR id > ? AND id < ?)`,
  },
  wait: {
    from: "troupe.wait",
    run: "run",
    request: "request",
    openedAt: "opened_at",
    agent: "agent",
    owner: REQUEST_OWNER,
    isOwned: REQUEST_IS_OWNED,
    ofRun: "run = ?",
    alone: "troupe.wait",
  },
  outbox: {
    from: "troupe.outbox",
    run: "run",
    request: "request",
    order: "run",
    newestFirst: "(SELECT updated_at FROM troupe.run WHERE run.id = outbox.run) DESC, run",
  },
  schedule: {
    from: "troupe.schedule",
    run: "run",
    id: "id",
    owner: "owner",
    ofAgent: "EXISTS (SELECT FROM troupe.run WHERE run.id = schedule.run AND agent = ?)",
    ofRun: "run = ?",
    order: "run, id",
    follows: "(run, id) > (?, ?)",
  },
  alias: { from: "troupe.alias", run: "run", agent: "agent", name: "name" },
  reference: { things: "troupe.reference", from: "troupe.reference", run: "run" },
  audit: {
    from: "troupe.audit",
    run: "run",
    agent: "(SELECT nullif(agent, '') FROM troupe.run WHERE run.id = audit.run)",
    ofRun: "run = ?",
  },
  text: {
    isDue: "EXISTS (SELECT FROM troupe.text_due WHERE text_due.run = run.id)",
    due: "troupe.text_due JOIN troupe.run ON run.id = text_due.run",
    // The row of the words is read once for all of them.
    fits: (words) => ({
      text: `(SELECT ${MATCHES} FROM troupe.run_text WHERE run_text.run = run.id)`,
      values: [toMatch(words)],
    }),
    // All are planned for, so that a scan is no choice, and not more are read than are needed. Others are looked for in the row that was found.
    matching: (words, others, most) => ({
      text: `WITH every AS MATERIALIZED (SELECT run, ${others.length === 0 ? "true" : MATCHES} AS fits
          FROM troupe.run_text WHERE ${MATCHES})
        SELECT run, fits FROM every LIMIT ?`,
      values: [...(others.length === 0 ? [] : [toMatch(others)]), toMatch(words), most],
    }),
    isMatching: () => ({ text: "run.id IN (SELECT run FROM hit WHERE fits)", values: [] }),
    ended: `(SELECT completed FROM troupe.request
      WHERE request.run = run.id AND completed <> request.started
      ORDER BY accepted_n DESC LIMIT 1)`,
  },
  spent: "troupe.spent",
  statistics: "troupe.statistic",
  holds: (column) => `strpos(${column}, ?) > 0`,
  anyOf: (column) => `${column} = ANY (?)`,
  notOwned: (run) =>
    `NOT EXISTS (SELECT FROM troupe.run AS owned WHERE owned.id = ${run} AND owned.owner = ANY (?))`,
  finish(text) {
    let count = 0;
    return text.replaceAll("?", () => `$${(count += 1)}`);
  },
};

const MATCHES = "words @@ (?::text)::tsquery";

function toMatch(words: readonly string[]): string {
  return words.map((word) => `'${word}':*`).join(" & ");
}
