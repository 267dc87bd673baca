import type { DatabaseSync, StatementSync } from "node:sqlite";
import { toChecksum } from "../format/chain.ts";
import type { ChunkPosition } from "../format/chain.ts";
import { STATISTICS_HOURS } from "../../../ports/statistics.ts";
import { DURATION_COLUMNS, REQUEST_PHASES } from "../../sql/dialect.ts";
import type { KnownChanges } from "./message.ts";

/** The columns of the statistics that are added up. */
const SUMS: readonly string[] = ["count", "ms", "input_tokens", "cached_tokens", "output_tokens"].concat(
  ["reasoning_tokens", "cost", "unknown_costs"],
  DURATION_COLUMNS,
);
const STATISTIC = `statistic (hour, owner, kind, agent, name, outcome, run, ${SUMS.join(", ")})
    VALUES (?, ?, ?, ?, ?, ?, ?, ${SUMS.map(() => "?").join(", ")})`;
const ADD_STATISTIC: string = `INSERT INTO ${STATISTIC} ON CONFLICT DO UPDATE SET run = coalesce(excluded.run, run),
    ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
const SET_STATISTIC: string = `INSERT OR REPLACE INTO ${STATISTIC}`;

const COMPLETED = REQUEST_PHASES.indexOf("completed");

/** Finds a run as a list has shown it, to which nothing belongs but requests that have ended. */
const FIND_IDLE: string = `SELECT rid FROM run
    WHERE run_id = ? AND coalesce((SELECT last FROM chunk WHERE chunk.rid = run.rid ORDER BY last DESC LIMIT 1), 0) = ?
      AND updated = ? AND removed = 0 AND status = 0 AND agent <> ''
      AND NOT EXISTS (SELECT 1 FROM request WHERE request.rid = run.rid AND (phase <> ${COMPLETED} OR request.started = completed))
      AND ${["alias", "snapshot", "schedule", "reference", "outbox"]
        .map((table) => `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${table}.rid = run.rid)`)
        .join(" AND ")}`;

/** The statements that are made from parts. */
const MADE: Readonly<Record<"addStatistic" | "setStatistic" | "findIdle", string>> = {
  addStatistic: ADD_STATISTIC,
  setStatistic: SET_STATISTIC,
  findIdle: FIND_IDLE,
};

/** The SQL statements of the writer, except those of the recent events (recent-events.ts). */
export type Statements = {
  readonly [Name in keyof typeof SQL | keyof typeof MADE]: StatementSync;
};

export function createStatements(database: DatabaseSync): Statements {
  const prepared = Object.entries({ ...SQL, ...MADE }).map(([name, text]) => [name, database.prepare(text)]);
  return Object.fromEntries(prepared) as Statements;
}

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  // It waits for readers that began before the newest commit. A passive one leaves what they may read, and among many reads there is
  // always such a reader, so the log would grow as long as there is load.
  checkpoint: "PRAGMA wal_checkpoint(RESTART)",
  truncate: "PRAGMA wal_checkpoint(TRUNCATE)",

  addBatch: `INSERT INTO batch (n, epoch, hash, first_chunk, recent, checksum, parts, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))`,
  forgetBatches: "DELETE FROM batch WHERE n <= ?",

  // The body arrives as UTF-8 bytes and is stored as text, so that it is readable with any SQLite tool.
  addChunk: `INSERT INTO chunk (rid, first, last, records_end, checksum, body, records)
    VALUES (?, ?, ?, ?, ?, CAST(? AS TEXT), ?)`,

  addRun: `INSERT INTO run
    (rid, run_id, head, agent, status, created, updated, turns, metadata, initial_input, started,
      last_turn, usage, owner)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 'null'), nullif(?, 'null'), ?)`,
  changeRun: `UPDATE run SET head = ?, status = ?, updated = ?, turns = ?, started = ?,
    metadata = coalesce(?, metadata), initial_input = coalesce(?, initial_input),
    last_turn = nullif(coalesce(?, last_turn), 'null'), usage = nullif(coalesce(?, usage), 'null')
    WHERE rid = ?`,
  // Apart from the others: setting an indexed column writes its indexes, also if the value stays the same.
  giveRun: "UPDATE run SET agent = ?, created = ? WHERE rid = ?",
  giveWaits: "UPDATE wait SET agent = ? WHERE rid = ?",

  findRequest: "SELECT rid FROM request WHERE request_id = ?",
  addRequest: `INSERT INTO request
    (request_id, rid, phase, created, accepted_n, accepted_after, started, segment, completed, wake, rests,
      waiting_for)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), nullif(?, '[]'), nullif(?, ''))
    ON CONFLICT (request_id) DO NOTHING`,
  changeRequest: `UPDATE request SET phase = ?, started = coalesce(?, started), segment = coalesce(?, segment),
    completed = coalesce(?, completed), wake = nullif(coalesce(?, wake), 0),
    rests = nullif(coalesce(?, rests), '[]'),
    waiting_for = nullif(coalesce(?, waiting_for), '')
    WHERE request_id = ?`,
  // Apart from the others, as for a run.
  giveRequest: `UPDATE request SET created = coalesce(?, created), accepted_n = coalesce(?, accepted_n),
    accepted_after = coalesce(?, accepted_after)
    WHERE request_id = ?`,

  findAlias: `SELECT rid, run_id FROM alias JOIN run USING (rid) WHERE alias.agent = ? AND alias = ?`,
  addAlias: "INSERT OR REPLACE INTO alias (agent, alias, rid) VALUES (?, ?, ?)",

  addReference: "INSERT OR IGNORE INTO reference (thing, rid) VALUES (?, ?)",
  dropReference: "DELETE FROM reference WHERE thing = ? AND rid = ?",

  addWait: `INSERT OR REPLACE INTO wait (rid, id, request_id, opened, agent)
    VALUES (?1, ?2, ?3, ?4, (SELECT agent FROM run WHERE rid = ?1))`,
  dropWait: "DELETE FROM wait WHERE rid = ? AND id = ?",
  dropWaits: "DELETE FROM wait WHERE rid = ? AND request_id = ?",

  addOutbox: "INSERT OR REPLACE INTO outbox (rid, event, request_id, kind) VALUES (?, ?, ?, ?)",
  dropOutbox: "DELETE FROM outbox WHERE rid = ? AND request_id = ? AND kind = ?",

  setSchedule: `INSERT OR REPLACE INTO schedule (rid, id, owner, due, data)
    VALUES (?1, ?2, (SELECT owner FROM run WHERE rid = ?1), ?3, ?4)`,
  dropSchedule: "DELETE FROM schedule WHERE rid = ? AND id = ?",
  moveSchedules: "UPDATE schedule SET rid = ? WHERE rid = (SELECT rid FROM run WHERE run_id = ?)",

  addAudit: `INSERT INTO audit (at, action, by_id, by_name, request, event, detail, owner, rid)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  addAuditEntry: `INSERT INTO audit (at, action, by_id, by_name, request, event, detail, owner, rid, times)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT rid FROM run WHERE run_id = ?), ?)`,
  addSpent: `INSERT INTO spent (owner, day, tokens, cost, raised_tokens, raised_cost) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (owner, day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost,
      raised_tokens = raised_tokens + excluded.raised_tokens, raised_cost = raised_cost + excluded.raised_cost`,
  setSpent:
    "INSERT OR REPLACE INTO spent (owner, day, tokens, cost, raised_tokens, raised_cost) VALUES (?, ?, ?, ?, ?, ?)",
  removeSpent: "DELETE FROM spent WHERE owner = ? OR (owner > ? AND owner < ?)",
  dropSpent: "DELETE FROM spent WHERE owner = ? AND day <= ?",
  dropStatistics: "DELETE FROM statistic WHERE hour <= ?",
  removeAuditOf: "DELETE FROM audit WHERE rid = ?",
  // The owner as it is in the index, which lacks that of most.
  removeAuditOwner: "DELETE FROM audit WHERE owner <> 'default' AND owner = ?",
  removeAuditDefault: "DELETE FROM audit WHERE owner = 'default'",
  removeAuditBefore: "DELETE FROM audit WHERE at < ?",
  removeAuditOldest: `DELETE FROM audit WHERE n IN
    (SELECT n FROM audit WHERE action > 0 AND action = ? ORDER BY at DESC, n DESC LIMIT -1 OFFSET ?)`,

  setSnapshot: `INSERT OR REPLACE INTO snapshot (rid, head, records, checksum, data)
    VALUES (?, ?, ?, ?, ?)`,

  setBase: `INSERT OR REPLACE INTO base (rid, head, records, checksum, data)
    VALUES (?, ?, ?, ?, ?)`,
  removeBeginning: "DELETE FROM chunk WHERE rid = ? AND last <= ? AND records_end <= ?",

  removeRun: `UPDATE run SET removed = 1, head = 0, agent = '', status = 0, created = 0, updated = 0,
    turns = 0, metadata = '{}', initial_input = 'null', started = NULL,
    last_turn = NULL, usage = NULL
    WHERE rid = ?`,
  removeRequests: `UPDATE request SET phase = 3, created = 0, accepted_n = 0, accepted_after = 0,
    started = NULL, segment = NULL, completed = NULL, wake = NULL, rests = NULL, waiting_for = NULL
    WHERE rid = ?`,
  removeAliases: "DELETE FROM alias WHERE rid = ?",
  removeReferences: "DELETE FROM reference WHERE rid = ?",
  removeWaits: "DELETE FROM wait WHERE rid = ?",
  removeOutbox: "DELETE FROM outbox WHERE rid = ?",
  removeSchedules: "DELETE FROM schedule WHERE rid = ?",
  removeSnapshot: "DELETE FROM snapshot WHERE rid = ?",
  removeBase: "DELETE FROM base WHERE rid = ?",

  findText: "SELECT words FROM run_text WHERE rid = ?",
  findLive: "SELECT 1 FROM run WHERE rid = ? AND removed = 0",
  setText: "INSERT OR REPLACE INTO run_text (rid, words) VALUES (?, ?)",
  removeText: "DELETE FROM run_text WHERE rid = ?",
  addWords: "INSERT INTO run_words (rowid, words) VALUES (?, ?)",
  dropWords: "INSERT INTO run_words (run_words, rowid, words) VALUES ('delete', ?, ?)",
  // Merges everything into one tree, which then has nothing of what was deleted: the first step begins, the others go on.
  beginMerge: "INSERT INTO run_words (run_words, rank) VALUES ('merge', -256)",
  merge: "INSERT INTO run_words (run_words, rank) VALUES ('merge', 256)",
  countChanges: "SELECT total_changes() AS changes",
  addDueText: "INSERT INTO text_due (rid) VALUES (?)",
  addDueTextOf: "INSERT INTO text_due (rid) SELECT rid FROM run WHERE run_id = ?",
  removeDueTexts: "DELETE FROM text_due WHERE n <= ?",
  removeDueText: "DELETE FROM text_due WHERE rid = ?",
  moveTextPlace: "UPDATE text_place SET seq = ?",
  // The numbers of deleted chunks are given again.
  limitTextPlace:
    "UPDATE text_place SET seq = (SELECT coalesce(max(seq), 0) FROM chunk) WHERE seq > (SELECT coalesce(max(seq), 0) FROM chunk)",

  findRemoved: "SELECT rid FROM run WHERE removed = 1 LIMIT 1",
  purgeChunks: `DELETE FROM chunk WHERE seq IN (SELECT seq FROM chunk WHERE rid = ? LIMIT ?)`,
  endPurge: "UPDATE run SET removed = 2 WHERE rid = ?",
} as const;

/**
 * Writes what an append changes besides its events: the rows of its run and requests, references, its alias and its
 * snapshot. The position is that of the run after the append.
 */
export function applyChanges(
  {
    addRun,
    changeRun,
    giveRun,
    giveWaits,
    addRequest,
    changeRequest,
    giveRequest,
    addAlias,
    addReference,
    dropReference,
    addWait,
    dropWait,
    dropWaits,
    addOutbox,
    dropOutbox,
    setSchedule,
    dropSchedule,
    moveSchedules,
    addDueTextOf,
    limitTextPlace,
    addAudit,
    addSpent,
    dropSpent,
    addStatistic,
    dropStatistics,
    setSnapshot,
    setBase,
    removeBeginning,
  }: Statements,
  position: ChunkPosition,
  {
    run,
    runId,
    isGiven = false,
    requests = [],
    known = [],
    references = [],
    waits = [],
    outbox = [],
    schedules = [],
    alias,
    audit,
    spent = [],
    statistics = [],
    snapshot,
    base,
  }: KnownChanges,
): void {
  const { rid, last: head, records } = position;
  if (run !== undefined) {
    const [
      agent,
      status,
      created,
      updated,
      turns,
      started,
      metadata,
      initialInput,
      lastTurn,
      usage,
      ,
      owner,
    ] = run;
    const json = [metadata, initialInput] as const;
    if (runId !== undefined) {
      const ends = [started, lastTurn, usage, owner] as const;
      addRun.run(rid, runId, head, agent, status, created, updated, turns, ...json, ...ends);
    } else {
      changeRun.run(head, status, updated, turns, started, ...json, lastTurn, usage, rid);
      if (isGiven) {
        giveRun.run(agent, created, rid);
        giveWaits.run(agent, rid);
      }
    }
  }
  for (const [waitId, request, openedAt, isClosed] of waits) {
    if (isClosed) dropWait.run(rid, waitId);
    else addWait.run(rid, waitId, request, openedAt);
  }
  for (const [index, [requestId, phase, created, n, after, ...events]] of requests.entries()) {
    // One that is not known can be of an earlier process.
    const isNew =
      known[index] !== true &&
      addRequest.run(requestId, rid, phase, created ?? 0, n ?? 0, after ?? 0, ...events).changes > 0;
    if (!isNew) changeRequest.run(phase, ...events, requestId);
    if (!isNew && (created ?? n ?? after) !== null) giveRequest.run(created, n, after, requestId);
    if (phase === COMPLETED) dropWaits.run(rid, requestId);
  }
  for (const [thing, isDropped] of references) (isDropped ? dropReference : addReference).run(thing, rid);
  for (const [requestId, kind, event, isDone] of outbox) {
    if (isDone) dropOutbox.run(rid, requestId, kind);
    else addOutbox.run(rid, event, requestId, kind);
  }
  if (alias !== undefined) {
    const [agent, name, from] = alias;
    addAlias.run(agent, name, rid);
    if (from !== null) {
      moveSchedules.run(rid, from);
      addDueTextOf.run(from);
    }
  }
  for (const [id, due, data] of schedules) {
    if (data === null) dropSchedule.run(rid, id);
    else setSchedule.run(rid, id, due, data);
  }
  for (const entry of audit?.entries ?? []) addAudit.run(...entry, audit?.owner ?? "", rid);
  for (const mark of spent) {
    const [owner, day] = mark;
    addSpent.run(...mark);
    dropSpent.run(owner, day - SPENT_DAYS);
  }
  for (const ended of statistics) {
    addStatistic.run(...ended);
    dropStatistics.run(ended[0] - STATISTICS_HOURS);
  }
  if (snapshot !== undefined) {
    setSnapshot.run(rid, head, records, toChecksum(position, NOTHING, snapshot), snapshot);
  }
  if (base !== undefined) {
    const [last, count, data] = base;
    const place = { rid, first: last, last, records: count };
    setBase.run(rid, last, count, toChecksum(place, NOTHING, data), data);
    removeBeginning.run(rid, last, count);
    limitTextPlace.run();
  }
}

/** For how many days it is known what an owner has spent. */
const SPENT_DAYS = 400;

const NOTHING = new Uint8Array();
