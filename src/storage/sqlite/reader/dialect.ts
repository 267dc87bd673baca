import { RUN_FAILED, WAIT_IS_OWNED, WAIT_OWNER } from "../format/schema.ts";
import type { SqlDialect, TextCondition } from "../../sql/dialect.ts";

/** The tables of ../format/schema.ts, whose rows have the number of their run. */
export const SQLITE: SqlDialect = {
  run: {
    from: "run",
    id: "run_id",
    node: "NULL",
    owner: "owner",
    createdAt: "run.created",
    updatedAt: "updated",
    agentOfFew: "+agent",
    head: "(SELECT last FROM chunk WHERE chunk.rid = run.rid ORDER BY last DESC LIMIT 1)",
    stored: "true",
    live: "removed = 0",
    failed: RUN_FAILED,
    // SQLite does not know that they are few.
    ofFailed: "run INDEXED BY run_failed",
    ofFailedOfOwner: "run INDEXED BY run_failed_of",
    busyStatus: "status > 0 AND status = ?",
    ownStatus: "+status = ?",
    openWaits: "(SELECT count(*) FROM wait WHERE wait.rid = run.rid)",
    queued: "(SELECT count(*) FROM request WHERE request.rid = run.rid AND phase = 0)",
    wakeAt: "(SELECT wake FROM request WHERE request_id = run.started)",
    alias: "(SELECT alias FROM alias WHERE alias.rid = run.rid ORDER BY alias LIMIT 1)",
    byCreation: {
      from: "run",
      order: "rid",
      placed: "true",
      ids: idsOf("removed = 0"),
      removedIds: idsOf("removed > 0"),
    },
  },
  request: {
    from: "request JOIN run ON run.rid = request.rid",
    // SQLite looks at the left side of a cross join first.
    ofRuns: "run CROSS JOIN request ON request.rid = run.rid",
    ofStarted: "run CROSS JOIN request ON request_id = run.started",
    startedPhase: "phase = ?",
    ofQueued: "request CROSS JOIN run ON run.rid = request.rid",
    ofRunsOrder: "run_id, run.rid DESC",
    id: "request_id",
    run: "run_id",
    createdAt: "request.created",
    started: "request.started",
    wakeAt: "wake",
    removed: "removed",
    live: "removed = 0",
    isBlocked:
      "EXISTS (SELECT 1 FROM request AS other WHERE other.rid = request.rid AND other.phase IN (1, 2, 4))",
    runOrder: "request.rid",
    followsRun: "request.rid > coalesce((SELECT rid FROM run WHERE run_id = ?), 0)",
    placeOf: `SELECT accepted_n, accepted_after, request_id FROM request
      WHERE rid = (SELECT rid FROM run WHERE run_id = ?) AND (request_id = ? OR request_id > ? AND request_id < ?)`,
  },
  wait: {
    from: "wait JOIN run ON run.rid = wait.rid",
    run: "run_id",
    request: "request_id",
    openedAt: "opened",
    agent: "wait.agent",
    owner: WAIT_OWNER,
    isOwned: WAIT_IS_OWNED,
    ofRun: "wait.rid = (SELECT rid FROM run WHERE run_id = ?)",
    alone: "wait",
  },
  outbox: {
    from: "outbox JOIN run ON run.rid = outbox.rid",
    run: "run_id",
    request: "request_id",
    order: "outbox.rid",
    newestFirst: "updated DESC, run_id",
  },
  schedule: {
    from: "schedule JOIN run ON run.rid = schedule.rid",
    run: "run_id",
    id: "schedule.id",
    owner: "schedule.owner",
    // By the index alone: the rows of the runs are far from each other.
    ofAgent: `(SELECT true FROM run AS own INDEXED BY run_created
      WHERE own.agent = ? AND own.rid = schedule.rid AND own.removed = 0)`,
    ofRun: "schedule.rid = (SELECT rid FROM run WHERE run_id = ?)",
    order: "schedule.rid, schedule.id",
    follows: "(schedule.rid, schedule.id) > ((SELECT rid FROM run WHERE run_id = ?), ?)",
  },
  alias: {
    from: "alias JOIN run ON run.rid = alias.rid",
    run: "run_id",
    agent: "alias.agent",
    name: "alias",
  },
  reference: {
    things: "reference",
    from: "reference JOIN run ON run.rid = reference.rid",
    run: "run_id",
  },
  audit: {
    from: "audit LEFT JOIN run ON run.rid = audit.rid",
    run: "run_id",
    agent: "nullif(agent, '')",
    ofRun: "audit.rid = (SELECT rid FROM run WHERE run_id = ?)",
  },
  text: {
    isDue: `coalesce((SELECT seq FROM chunk WHERE chunk.rid = run.rid ORDER BY last DESC, seq DESC LIMIT 1), 0) >
      (SELECT seq FROM text_place) OR EXISTS (SELECT 1 FROM text_due WHERE text_due.rid = run.rid)`,
    // Not by the index of the runs, which would give them in order: all of it would be read.
    due: `(SELECT DISTINCT rid FROM chunk NOT INDEXED WHERE seq > (SELECT seq FROM text_place)
      UNION SELECT rid FROM text_due) CROSS JOIN run USING (rid)`,
    // So many chunks would have to be read to know which runs are due.
    isBehind:
      "SELECT coalesce((SELECT max(seq) FROM chunk) - (SELECT seq FROM text_place), 0) > 2000 AS behind",
    fits,
    matching: (words, _others, most) => ({
      text: "SELECT rowid FROM run_words WHERE run_words MATCH ? LIMIT ?",
      values: [words.map((word) => `"${word}" *`).join(" AND "), most],
    }),
    isMatching(others) {
      const { text, values } = fits(others);
      return { text: ["rid IN (SELECT rowid FROM hit)", text].filter(Boolean).join(" AND "), values };
    },
    ended: `(SELECT completed FROM request
      WHERE request.rid = run.rid AND completed <> request.started
      ORDER BY accepted_n DESC, accepted_after DESC LIMIT 1)`,
  },
  spent: "spent",
  statistics: "statistic",
  holds: (column) => `instr(${column}, ?) > 0`,
  // A list of texts is bound as JSON.
  anyOf: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  finish: (text) => text,
};

function fits(words: readonly string[]): TextCondition {
  return { text: words.map(() => BEGINS).join(" AND "), values: words };
}

function idsOf(which: string): string {
  return `SELECT run_id AS id FROM run
    WHERE ${which} AND rid > coalesce((SELECT rid FROM run WHERE run_id = ?), 0) ORDER BY rid LIMIT ?`;
}

const BEGINS = "instr((SELECT ' ' || words FROM run_text WHERE run_text.rid = run.rid), ' ' || ?) > 0";
