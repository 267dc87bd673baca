/** @module-tag long */
// What belongs to no one run, while the database that has it is taken out of a log.
import type { PostgresLog } from "troupe/postgres";
import { expect, onTestFinished, test } from "vitest";
import type { AuditEntry, AuditQuery } from "../../../../src/ports/audit.ts";
import type { SpentEntry, SpentKey, SpentMark } from "../../../../src/ports/spending.ts";
import { countOne, STATISTICS_BY } from "../../../../src/ports/statistics.ts";
import type { StatisticsEntry, StatisticsQuery } from "../../../../src/ports/statistics.ts";
import { mapConcurrent } from "../../../../src/shared/map-concurrent.ts";
import type { ShardMove } from "../../../../src/storage/postgres/shards/move-shards.ts";
import { SHARD_COUNT, shardOf } from "../../../../src/storage/postgres/shards/parts.ts";
import {
  accepted,
  asRequestId,
  asRunId,
  nextEvents,
  row,
} from "../../../../src/testing/event-log/subject.ts";
import { needsPostgres } from "../../../machine/postgres.ts";
import { newSchema, query } from "../logs.ts";
import { Dead, openMover } from "./moving.ts";
import { openSchemas } from "./shards.ts";

needsPostgres();

test("budgets, statistics, the audit trail and lists are the same after a database is emptied and taken out, and go on from there", async () => {
  const { schemas, log } = await openThree();
  const [a, b, c] = schemas;
  await fill(log);
  await log.indexed?.();
  const before = await look(log);
  expect(before.budgets).toMatchObject([
    { tokens: 500, cost: 1.25, raisedTokens: 2_000 },
    { tokens: 400, cost: 1, raisedTokens: 1_000 },
    { tokens: 400, cost: 1, raisedTokens: 0 },
  ]);
  for (const schema of schemas) expect(Math.min(...(await countRest(schema)))).toBeGreaterThan(0);

  const mover = await openMover(schemas);
  expect(await mover.move({ from: 3, to: 1 })).toHaveLength(3);
  expect(await countRest(c)).toEqual([0, 0, 0]);
  expect(await look(log)).toEqual(before);
  await log.close();

  const after = await openFor([a, b]);
  expect(await look(after)).toEqual(before);
  // The sums of several hours are made again.
  await after.indexed?.();
  expect(await look(after)).toEqual(before);
  const { cursor } = await after.claim(asRunId(MOVED[0] ?? ""));
  await after.append(cursor, { ...nextEvents(cursor, 1), spent: [spent(1)], statistics: [turn("acme", {})] });
  const key = { owner: "acme", day: DAY };
  expect(await after.spending.on(key)).toMatchObject({ tokens: 600, cost: 1.5, raisedTokens: 2_000 });
  const turns = await after.statistics.sum({ by: "operation", from: HOUR, until: HOUR + 1, owner: "acme" });
  expect(turns.find(({ outcome }) => outcome === "success")).toMatchObject({ group: "chat", count: 6 });
});

test("a command that dies anywhere in this leaves no sum wrong: the next one ends it, whatever it moves", async () => {
  const steps = await countSteps();
  const last = Array.from({ length: STEPS_OF_REST }, (_, at) => steps - at);
  const shards = MOVED.map((id) => shardOf(asRunId(id)));
  const plays = [
    ...last.flatMap((step) => [1, 2].map((to): Play => ({ step, moves: [{ from: 3, to }] }))),
    // The database gets its shards again, and is then emptied a second time.
    ...last.slice(0, 3).map((step): Play => ({
      step,
      moves: [
        { to: 3, shards },
        { from: 3, to: 1 },
      ],
    })),
  ];
  for await (const { name, before, seen } of mapConcurrent(plays, AT_ONCE, play))
    for (const after of seen) expect({ name, ...after }).toEqual({ name, ...before });
});

/** A command that dies, and what is done next. */
interface Play {
  /** The step with which the command dies that empties database 3 into the first one. */
  readonly step: number;
  readonly moves: readonly ShardMove[];
}

/** Resolves with what a log shows before, and after each of the next moves. */
async function play({ step, moves }: Play): Promise<{
  readonly name: string;
  readonly before: object;
  readonly seen: readonly object[];
}> {
  const name = `died with step ${step}, then ${JSON.stringify(moves)}`;
  const { schemas, log } = await openThree();
  await fill(log);
  const before = await look(log);
  const dying = await openMover(schemas, step);
  await expect(dying.move({ from: 3, to: 1 })).rejects.toBeInstanceOf(Dead);
  const mover = await openMover(schemas);
  const seen: object[] = [];
  for (const move of moves) {
    await mover.move(move);
    seen.push(await look(log));
  }
  expect({ name, rest: await countRest(schemas[2]) }).toEqual({ name, rest: [0, 0, 0] });
  // The plays after this one need the connections.
  await Promise.all([log, dying, mover].map((one) => one.close()));
  return { name, before, seen };
}

/** The number of steps of a command that empties database 3. */
async function countSteps(): Promise<number> {
  const { schemas, log } = await openThree();
  await fill(log);
  const mover = await openMover(schemas);
  await mover.move({ from: 3, to: 1 });
  return mover.steps;
}

/** The last steps of such a command: a transaction, the three tables that it reads, the deletion, and two notes. */
const STEPS_OF_REST = 7;

const AT_ONCE = 4;

/** Three runs in each of three databases. */
const IDS: readonly (readonly string[])[] = [0, 1, 2].map((place) => {
  const ids: string[] = [];
  for (let n = 0; ids.length < 3; n += 1)
    if (Math.floor((shardOf(asRunId(`run-${n}`)) * 3) / SHARD_COUNT) === place) ids.push(`run-${n}`);
  return ids;
});

const MOVED = IDS[2] ?? [];

/** Opens a log in three databases, of which the third has the shards of three runs alone: more take longer to move. */
async function openThree(): Promise<{
  readonly schemas: readonly [string, string, string];
  readonly log: PostgresLog;
}> {
  const schemas = [newSchema(), newSchema(), newSchema()] as const;
  await (await openSchemas(schemas)).close();
  const shards = MOVED.map((id) => shardOf(asRunId(id)));
  await query(`UPDATE ${schemas[0]}.shard SET part = 1 WHERE part = 3 AND shard <> ALL ($1)`, [shards]);
  return { schemas, log: await openFor(schemas) };
}

const HOUR = 480_000;
const DAY = HOUR / 24;

/** Gives each run something of each kind. */
async function fill(log: PostgresLog): Promise<void> {
  const ann = { id: "ann" };
  for (const [at, id] of IDS.flat().entries()) {
    const owner = at % 2 === 0 ? "acme" : "bolt";
    const agent = at % 4 === 0 ? "desk" : "clerk";
    const requestId = asRequestId(`request-${at}`);
    const failed = { outcome: "error:timeout", runId: asRunId(id) };
    const { cursor } = await log.claim(asRunId(id));
    const next = await log.append(cursor, {
      ...nextEvents(cursor, 1),
      run: row({ owner, agent, createdAt: 1_000 + at, updatedAt: 1_000 + at }),
      alias: { owner, agent, name: `name-${at}` },
      requests: [accepted(requestId, { createdAt: at })],
      waits: [{ waitId: 1, requestId, openedAt: at }],
      schedules: [{ id: "daily", due: 5 + at, data: {} }],
      outbox: [{ kind: "dead", event: 1, requestId }],
      audit: [{ at: 1_000 + 10 * at, action: "create", by: ann }],
      spent: [spent(1), { ...spent(2), agent }],
      statistics: [
        turn(owner, {}),
        turn(owner, { kind: "completion", name: "small", cost: 0.25, inputTokens: 60 }),
        turn(owner, { hour: HOUR + 50 * at, agent, ...failed }),
      ],
    });
    await log.append(next, {
      ...nextEvents(next, 1),
      audit: [1, 2, 3].map((later) => ({
        at: 1_000 + 10 * at + later,
        action: "answer",
        by: { id: "bob" },
        requestId,
        event: later,
      })),
      spent: [
        { ...spent(0), ...(at % 3 === 0 && { raisedTokens: 1_000 }) },
        { ...spent(1), day: DAY + 1 + at },
      ],
      statistics: [1, 2, 3, 4].map((week) => turn(owner, { hour: HOUR - 168 * week })),
    });
  }
  await log.audit.add([{ at: 1, action: "sign_in", by: ann, owner: "acme" }]);
  await log.secrets().put({ key: "value" });
}

function spent(times: number): SpentMark {
  return { day: DAY, tokens: 100 * times, cost: times / 4, raisedTokens: 0, raisedCost: 0 };
}

function turn(owner: string, key: Partial<StatisticsEntry>): StatisticsEntry {
  const place = { hour: HOUR, owner, kind: "turn", agent: "desk", name: "chat" } as const;
  return { ...place, outcome: "success", ...countOne(20), ...key };
}

/** Everything that a log shows of what is in no one run, and the lists of runs. */
async function look(log: PostgresLog) {
  const all = { from: 0, until: 2 * HOUR };
  const keys: readonly SpentKey[] = [
    { owner: "acme", day: DAY },
    { owner: "bolt", day: DAY },
    { owner: "acme", agent: "clerk", day: DAY },
  ];
  const sums = async (query: Omit<StatisticsQuery, "by">): Promise<readonly string[]> => {
    const groups = await Promise.all(STATISTICS_BY.map((by) => log.statistics.sum({ ...query, by })));
    return groups.map((found) => JSON.stringify(found.map((group) => JSON.stringify(group)).sort()));
  };
  return {
    budgets: await Promise.all(keys.map((key) => log.spending.on(key))),
    spent: await pages<SpentEntry>((after) => log.spending.list({ limit: 2, ...(after && { after }) })),
    sums: await sums(all),
    ofOwner: await sums({ ...all, owner: "bolt" }),
    ofAgent: await sums({ from: HOUR - 200, until: HOUR + 200, agent: "clerk" }),
    owners: (await log.statistics.owners({ ...all, limit: 1 })).count,
    since: await log.statistics.since(),
    failed: await log.statistics.failed({ ...all, limit: 99 }),
    statistics: await pages<StatisticsEntry>((after) =>
      log.statistics.list({ limit: 5, ...(after && { after }) }),
    ),
    audit: await audit(log, {}),
    oldestFirst: await audit(log, { oldestFirst: true }),
    ofPrincipal: await audit(log, { by: "ann", owner: "acme" }),
    ofRun: await audit(log, { runId: asRunId(MOVED[0] ?? "") }),
    runs: (await log.list({ limit: 99 })).runs.map(({ runId, agent, head }) => [runId, agent, head]),
    requests: await log.listRequests({ limit: 99 }),
    waits: await log.waits({ limit: 99 }),
    schedules: await log.schedules({ limit: 99, total: true }),
    due: await log.due({ notAfter: 99 }),
    dead: (await log.outbox({ kind: "dead" })).map(({ runId }) => runId).sort(),
    named: await Promise.all(
      IDS.flat().map((_, at) =>
        log.find({
          owner: at % 2 === 0 ? "acme" : "bolt",
          agent: at % 4 === 0 ? "desk" : "clerk",
          name: `name-${at}`,
        }),
      ),
    ),
    secret: await log.secrets().get("key"),
  };
}

/** All entries of a list, on pages that begin behind the last one. */
async function pages<Entry>(
  list: (after: Entry | undefined) => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await list(entries.at(-1));
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

async function audit(log: PostgresLog, which: Omit<AuditQuery, "limit">): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.audit.list({ ...which, limit: 4, ...(cursor !== undefined && { cursor }) });
    found.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

/** How many rows a database has of the audit trail, of statistics, and of what was spent. */
async function countRest(schema: string): Promise<readonly number[]> {
  return Promise.all(
    ["audit", "statistic", "spent"].map(async (table) => {
      const [counted] = await query(`SELECT count(*)::int AS count FROM ${schema}.${table}`);
      return Number(counted?.["count"]);
    }),
  );
}

async function openFor(schemas: readonly string[]): Promise<PostgresLog> {
  const log = await openSchemas(schemas, { secretsKey: "a key for secrets, long enough for them" });
  onTestFinished(() => log.close());
  return log;
}
