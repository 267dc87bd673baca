/** @module-tag long */
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Fenced, Unavailable } from "../../../src/ports/event-log.ts";
import type { Claim, Cursor, EventLog } from "../../../src/ports/event-log.ts";
import {
  events,
  nextEvents,
  asRequestId,
  row,
  asRunId,
  startRun,
} from "../../../src/testing/event-log/subject.ts";
import { postgresLog } from "troupe/postgres";
import { startLogChild } from "../directories.ts";
import { fillIdle, findIdle } from "../idle-sets.ts";
import { needsPostgres, ownPostgres, postgresUrl } from "../../machine/postgres.ts";
import { ask } from "./databases.ts";
import { newSchema, openEmpty, openProxy, openSchema, query, schemaOf } from "./logs.ts";

needsPostgres();

test("an append whose answer is lost is acknowledged once, and not written twice", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  let cursor = await startRun(log, "run", 1);
  for (let round = 0; round < 5; round += 1) {
    proxy.loseAnswersTo("append_2");
    cursor = await log.append(cursor, nextEvents(cursor, 2));
    // One that changes neither events nor records.
    proxy.loseAnswersTo("append_2");
    cursor = await log.append(cursor, { events: [], records: [], run: row({ turns: round }) });
  }
  expect(proxy.lost).toBe(10);
  expect(await log.run(asRunId("run"))).toMatchObject({ turns: 4, head: 11 });
  log.release(cursor);
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 11));
});

test("appends whose answer is lost are acknowledged, also if the repeated statement is refused as a whole", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  const [one, two] = [await startRun(log, "one", 1), await startRun(log, "two", 1)];
  const schema = schemaOf(log);
  await query(`CREATE SEQUENCE ${schema}.statement`);
  await query(`ALTER FUNCTION ${schema}.append_2 RENAME TO append_all`);
  // The numbers of a sequence stay also when a statement fails.
  await query(`CREATE FUNCTION ${schema}.append_2(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('${schema}.statement') = 2 THEN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END IF;
      RETURN ${schema}.append_all(items, VARIADIC bodies);
    END $$`);
  proxy.loseAnswersTo("append_2");
  const cursors = await Promise.all(
    [one, two].map(async (cursor) => log.append(cursor, nextEvents(cursor, 2))),
  );

  expect(cursors).toMatchObject([{ head: 3 }, { head: 3 }]);
  expect((await log.read(asRunId("two"), { after: 0 })).events).toEqual(events(1, 3));
});

test("a new run is claimed by its first append, whose answer may be lost: it is acknowledged once", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  const claims = proxy.hear("claim_3");
  for (const id of ["one", "two"].map(asRunId)) {
    const { cursor } = await log.claim(id, { isNew: true });
    expect(await query(`SELECT FROM ${schemaOf(log)}.run WHERE id = $1`, [id])).toEqual([]);
    const requests = [{ requestId: asRequestId(id), phase: "queued", createdAt: 1 }] as const;
    proxy.loseAnswersTo("append_2");
    const next = await log.append(cursor, { ...nextEvents(cursor, 2), requests });
    expect(await log.append(next, nextEvents(next, 1))).toMatchObject({ head: 3 });
    expect((await log.read(id, { after: 0 })).events).toEqual(events(1, 3));
    expect(await log.lookup(asRequestId(id))).toMatchObject({ runId: id });
  }
  expect(proxy.lost).toBe(2);
  expect(claims.count).toBe(0);
});

test("a first append that arrives late is refused if another node has claimed the run meanwhile", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  const other = await openSchema(schemaOf(log));
  onTestFinished(() => other.close());
  const { cursor } = await log.claim(asRunId("run"), { isNew: true });
  proxy.silence();
  const appended = log.append(cursor, nextEvents(cursor, 2));
  await startRun(other, "run", 1);
  proxy.mend();
  await expect(appended).rejects.toBeInstanceOf(Fenced);
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 1));
});

test("a database that has lost the number of a claim refuses the first append with it; the next claims have new numbers", async () => {
  const log = await open({});
  const { cursor: lost } = await log.claim(asRunId("lost"), { isNew: true });
  const { cursor: other } = await log.claim(asRunId("other"), { isNew: true });
  // As after a fail-over to a server that is behind.
  await query(`SELECT setval('${schemaOf(log)}.epoch', 1, false)`);
  for (const cursor of [lost, other])
    await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Fenced);
  expect(log.health()).toEqual({ writable: true });
  const { cursor } = await log.claim(asRunId("next"), { isNew: true });
  expect(await log.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 1 });
});

test("a first append for which the database ends, and starts again, is there once", async (context) => {
  const server = await ownPostgres(context);
  const log = await open({ url: server.url });
  const { cursor } = await log.claim(asRunId("run"), { isNew: true });
  await server.kill();
  const appended = log.append(cursor, nextEvents(cursor, 2));
  await server.start();
  const next = await appended;
  expect(await log.append(next, nextEvents(next, 1))).toMatchObject({ head: 3 });
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 3));
});

test("a claim, a read and a removal whose answers are lost are repeated", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  log.release(await startRun(log, "run", 2));
  proxy.loseAnswersTo("claim_3");
  const { cursor } = await log.claim(asRunId("run"), { unlessOwnedBy: ["other"] });
  proxy.loseAnswersTo("read_2");
  expect((await log.read(asRunId("run"), { after: 0, records: true })).head).toBe(2);
  const next = await log.append(cursor, { events: [], records: [], references: [{ thing: "secret" }] });
  proxy.loseAnswersTo("remove_1");
  expect(await log.remove(next)).toEqual(["secret"]);
  expect(proxy.lost).toBe(3);
  expect(await log.run(asRunId("run"))).toMatchObject({ removed: true });
});

test.each(["ends", "is ended"])(
  "a process that is killed in the middle of a set of removals leaves each run whole or none of it, when its statement %s",
  async (how) => {
    const schema = newSchema();
    const url = await postgresUrl();
    const filled = await openSchema(schema);
    await fillIdle(filled);
    await filled.close();
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    onTestFinished(() => holder.end());
    // The removal of one of them waits in the middle of its set.
    await holder.query(`BEGIN; SELECT FROM ${schema}.request WHERE run = 'idle-25' FOR UPDATE`);
    const child = startLogChild("remove", JSON.stringify({ url, schema }));
    let pid: unknown;
    for await (const line of child.lines) {
      expect(JSON.parse(line)).toBe("removing");
      await expect.poll(async () => (pid = (await query(WAITING, [schema]))[0]?.["pid"])).toBeDefined();
      child.process.kill("SIGKILL");
    }
    expect(await child.ended).toBe("SIGKILL");
    if (how === "is ended") await query("SELECT pg_terminate_backend($1)", [pid]);
    await holder.query("ROLLBACK");
    await expect.poll(() => query("SELECT FROM pg_stat_activity WHERE pid = $1", [pid])).toEqual([]);

    const log = await openSchema(schema);
    onTestFinished(() => log.close());
    const left = how === "ends" ? "removed" : "whole";
    expect(await findIdle(log)).toEqual({ idle: [left], needed: ["whole"] });
    await log.removeIdle((await log.list({ status: "idle", limit: 200 })).runs);
    expect(await findIdle(log)).toEqual({ idle: ["removed"], needed: ["whole"] });
  },
);

/** The statement of a schema that waits for a lock. */
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '.request%'`;

test("appends with large records are divided between several statements", async () => {
  const log = await open({});
  const cursors = await Promise.all(
    Array.from({ length: 12 }, (_, index) => startRun(log, `run-${index}`, 1)),
  );
  const before = log.figures?.().commits ?? 0;
  const note = "x".repeat(1_000_000);
  const records = [{ n: 1, after: 1, type: "noted", note }];
  await Promise.all(cursors.map(async (cursor) => log.append(cursor, { ...nextEvents(cursor, 1), records })));
  expect((log.figures?.().commits ?? 0) - before).toBeGreaterThanOrEqual(3);
});

test("a run without events is read back with all its records, also if they need several statements", async () => {
  const log = await open({});
  let { cursor } = await log.claim(asRunId("run"));
  const note = "x".repeat(2_500_000);
  for (const n of [1, 2, 3]) {
    const records = [{ n, after: 0, type: "noted", note }];
    cursor = await log.append(cursor, { events: [], records, run: row({}) });
  }
  const page = await log.read(asRunId("run"), { after: 0, records: true });
  expect(page.records.map(({ n }) => n)).toEqual([1, 2, 3]);
});

test("a claim takes a run that another node releases without an append meanwhile", async () => {
  const a = await open({});
  const b = await openSchema(schemaOf(a));
  onTestFinished(() => b.close());
  await a.claim(asRunId("run"));
  const { release, claimed } = await locked(a, () => b.claim(asRunId("run")));
  await release(`DELETE FROM ${schemaOf(a)}.run`);
  const { cursor } = await claimed;
  expect(await b.append(cursor, { ...nextEvents(cursor, 1), run: row({}) })).toMatchObject({ head: 1 });
});

test("a file and a secret whose answers are lost are stored, also a file that comes in pieces", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url, secretsKey: "a key of thirty-two characters .." });
  const artifacts = log.artifacts?.();
  const file = { name: "file", mimeType: "text/plain", limitBytes: 1_000_000 };
  async function* inPieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("some ");
    yield Buffer.from("bytes");
  }
  const bodies = { whole: Buffer.alloc(600_000), pieces: inPieces() };
  for (const [artifactId, body] of Object.entries(bodies)) {
    proxy.loseAnswersTo("artifact_chunk");
    await artifacts?.put({ ...file, artifactId, body });
  }
  proxy.loseAnswersTo(".secret");
  await log.secrets?.().put({ token: "hidden" });
  proxy.loseAnswersTo("artifact_run");
  await artifacts?.attach(["whole"], asRunId("run"));
  expect(proxy.lost).toBe(4);
  expect(await artifacts?.get("whole")).toMatchObject({ sizeBytes: 600_000, runIds: ["run"] });
  expect(await artifacts?.get("pieces")).toMatchObject({ sizeBytes: 10 });
  expect(await log.secrets?.().get("token")).toBe("hidden");
});

test(
  "connections that an operator ends in the middle of appends lose nothing and double nothing",
  { tags: "long" },
  async () => {
    const log = await open({});
    const ends =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'troupe' AND query LIKE $1";
    const runs = Array.from({ length: 20 }, (_, index) => `run-${index}`);
    let ended = 0;
    let landed = Promise.withResolvers<void>();
    const appendAll = async (id: string): Promise<Cursor> => {
      let cursor = await startRun(log, id, 1);
      for (let round = 0; round < 30 || ended === 0; round += 1) {
        cursor = await log.append(cursor, nextEvents(cursor, 1));
        landed.resolve();
      }
      return cursor;
    };
    let appending = true;
    const operate = async (): Promise<void> => {
      while (appending) {
        ended += (await query(ends, [`%${schemaOf(log)}.append_2%`])).length;
        // An operator who ends every attempt of an append would be a database that is away.
        landed = Promise.withResolvers();
        if (appending) await landed.promise;
      }
    };
    const written = Promise.all(runs.map(appendAll)).finally(() => {
      appending = false;
      landed.resolve();
    });
    const [cursors] = await Promise.all([written, operate()]);
    for (const { runId: id, head } of cursors) {
      expect(head).toBeGreaterThanOrEqual(31);
      expect((await log.read(id, { after: 0, records: true })).events).toEqual(events(1, head));
    }
  },
);

test("a node without runs whose listening connection ends listens again over one connection, and closes it", async () => {
  const log = await open({ nodes: "one" });
  const key = `hashtextextended('troupe serves ${schemaOf(log)}', 0)`;
  // The key of the lock is split into two numbers.
  const listening = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = (${key} & 4294967295)::oid`;
  const [first] = await query(listening);
  await query("SELECT pg_terminate_backend($1)", [first?.["pid"]]);
  const another = async (): Promise<number> =>
    (await query(listening)).filter(({ pid }) => pid !== first?.["pid"]).length;
  await expect.poll(another).toBe(1);
  await log.close();
  await expect.poll(another).toBe(0);
});

test("while the database is away, appends wait; when it is back they continue, and readers on other nodes are woken", async (context) => {
  const server = await ownPostgres(context);
  const [a, b] = [await open({ url: server.url }), await open({ url: server.url })];
  let cursor = await startRun(a, "run", 1);
  await server.kill();
  const waiting = a.append(cursor, nextEvents(cursor, 2));
  const woken = new Promise<void>((resolve) => {
    b.tail(asRunId("run"), resolve);
  });
  await server.start();
  cursor = await waiting;
  await woken;
  expect(cursor.head).toBe(3);
  await expect.poll(async () => (await b.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 3));
  expect(a.health()).toEqual({ writable: true });
});

test(
  "a database that stays away makes the log refuse appends, until it is back",
  { tags: "long" },
  async (context) => {
    const server = await ownPostgres(context);
    const log = await open({ url: server.url, settleMs: 300 });
    const cursor = await startRun(log, "run", 1);
    const other = await startRun(log, "other", 1);
    await server.kill();
    await expect(log.append(cursor, nextEvents(cursor, 2))).rejects.toBeInstanceOf(Unavailable);
    expect(log.health()).toEqual({ writable: false, reason: "the database cannot be reached" });
    await expect(async () => log.append(other, nextEvents(other, 1))).rejects.toBeInstanceOf(Unavailable);
    await expect(log.run(asRunId("run"))).rejects.toMatchObject({ code: "unavailable" });

    await server.start();
    await expect.poll(() => log.health()).toEqual({ writable: true });
    // The outcome is unknown: the run is claimed again.
    await expect(async () => log.append(cursor, nextEvents(cursor, 2))).rejects.toBeInstanceOf(Fenced);
    const { cursor: again } = await log.claim(asRunId("run"));
    expect(again.head).toBe(1);
    expect(await log.append(other, nextEvents(other, 1))).toMatchObject({ head: 2 });
  },
);

test("a text that the database cannot store is refused, and the log and the run continue", async () => {
  const log = await open({});
  const cursors = await Promise.all(["a", "b", "c"].map((id) => startRun(log, id, 1)));
  const appends = cursors.map(async (cursor) => {
    const bad = { requests: [{ requestId: asRequestId("a\u0000b"), phase: "queued" }] } as const;
    return log.append(cursor, { ...nextEvents(cursor, 1), ...(cursor.runId === "b" && bad) });
  });
  const settled = await Promise.allSettled(appends);
  expect(settled).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { code: "invalid_request" } },
    { status: "fulfilled" },
  ]);
  expect(log.health()).toEqual({ writable: true });
  const [, b] = cursors;
  expect(b && (await log.append(b, nextEvents(b, 1)))).toMatchObject({ head: 2 });
  await expect(log.lookup(asRequestId("a\u0000b"))).rejects.toMatchObject({ code: "invalid_request" });
  await expect(log.find({ agent: "echo", name: "\ud800" })).resolves.toBeUndefined();
});

test("a node that hears nothing of a new owner does not serve its old events as the newest", async () => {
  const proxy = await openProxy(await postgresUrl());
  const a = await open({ listenUrl: proxy.url });
  const b = await openSchema(schemaOf(a));
  onTestFinished(() => b.close());
  await startRun(a, "run", 1);
  proxy.cut();
  const { cursor } = await b.claim(asRunId("run"));
  await b.append(cursor, nextEvents(cursor, 2));
  await expect.poll(async () => (await a.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 3));
  proxy.mend();
});

test(
  "a reader on a node whose append is under way while another node takes the run over gets the new events",
  { tags: "long" },
  async () => {
    const proxy = await openProxy(await postgresUrl());
    const a = await open({ url: proxy.url, listenUrl: await postgresUrl() });
    const b = await openSchema(schemaOf(a));
    onTestFinished(() => b.close());
    const run = asRunId("run");
    const before = await startRun(a, "run", 1);
    let woken = 0;
    let newest = Promise.resolve(0);
    // As a reader that rests at the end: it reads when it is woken, and only then.
    a.tail(run, () => {
      woken += 1;
      newest = newest.then(async (head) => Math.max(head, (await a.read(run, { after: 1 })).head));
    });
    proxy.silence();
    const appended = a.append(before, nextEvents(before, 1));
    const { cursor } = await b.claim(run);
    await b.append(cursor, nextEvents(cursor, 2));
    // The notifications of the claim and of the append, and the look for lost ones.
    await expect.poll(() => woken).toBeGreaterThanOrEqual(3);
    proxy.mend();
    await expect(appended).rejects.toBeInstanceOf(Fenced);
    await expect.poll(() => newest).toBe(3);
  },
);

test("a node that knows events which the database has lost serves them no longer, and says so", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await open({ url: proxy.url });
  const [read, written] = [await startRun(log, "read", 1), await startRun(log, "written", 1)];
  const cursors = [
    await log.append(read, nextEvents(read, 2)),
    await log.append(written, nextEvents(written, 2)),
  ];
  let woken = (): void => {};
  log.tail(asRunId("read"), () => woken());
  const wake = new Promise<void>((resolve) => {
    woken = resolve;
  });
  // As a standby has it that had not received the second append.
  proxy.cut();
  await query(`DELETE FROM ${schemaOf(log)}.recent`);
  expect(log.health().warnings).toBeUndefined();
  proxy.mend();
  await wake;

  expect(log.health().warnings).toEqual([expect.stringMatching(/^acknowledged events are lost/)]);
  expect(await log.read(asRunId("read"), { after: 0 })).toMatchObject({ events: events(1, 1), head: 1 });
  for (const cursor of cursors)
    await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Fenced);
  const { cursor } = await log.claim(asRunId("written"));
  expect(await log.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 2 });
});

test("an append to a run whose newest events the database has lost is refused, and the node says so", async () => {
  const log = await open({});
  let cursor = await startRun(log, "run", 1);
  cursor = await log.append(cursor, nextEvents(cursor, 2));
  await query(`DELETE FROM ${schemaOf(log)}.recent`);
  await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toThrow(
    /has lost acknowledged/,
  );
  expect(log.health().warnings).toEqual([expect.stringMatching(/among them some of run run: a standby/)]);
});

test(
  "a look for the oldest runs does not read the runs that were removed before",
  { tags: "long" },
  async (context) => {
    const server = await ownPostgres(context);
    const log = await postgresLog({ url: server.url });
    log.release(await startRun(log, "run", 1));
    await ask(
      server.url,
      `INSERT INTO troupe.run (id, epoch, agent, stored, removed, updated_at)
      SELECT 'run-' || n, 0, 'one', true, n <= 50000, n FROM generate_series(1, 70000) AS n`,
    );
    await ask(server.url, "ANALYZE troupe.run");
    const READ = "SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables WHERE relname = 'run'";
    const [before] = await ask(server.url, READ);
    expect((await log.list({ status: "idle", oldestFirst: true, limit: 100 })).runs).toHaveLength(100);
    await log.close();
    // The server counts what a connection has read when the connection ends, at the latest.
    const others =
      "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    await expect.poll(() => ask(server.url, others)).toEqual([]);
    const [after] = await ask(server.url, READ);
    expect(Number(after?.["rows"]) - Number(before?.["rows"])).toBeLessThan(1_000);
  },
);

test("a database of schema 1 gets what it lacks, and its runs go on", async () => {
  const schema = newSchema();
  const first = await openSchema(schema);
  await startRun(first, "run-1", 2);
  await first.close();
  await query(`DELETE FROM ${schema}.migration WHERE version > 1;
    DROP TABLE ${schema}.version, ${schema}.version_file, ${schema}.audit;
    DROP INDEX ${schema}.request_queued;
    CREATE INDEX run_owner ON ${schema}.run (owner) WHERE owner IS NOT NULL;
    DROP FUNCTION ${schema}.append_3, ${schema}.append_2, ${schema}.append_one_2, ${schema}.refusal_2, ${schema}.claim_2, ${schema}.claim_3, ${schema}.spend_1, ${schema}.change_2;
    DROP STATISTICS ${schema}.run_agent_status;
    DROP INDEX ${schema}.run_failed, ${schema}.run_failed_of;
    DROP INDEX ${schema}.wait_owner, ${schema}.outbox_dead;
    DROP TABLE ${schema}.spent, ${schema}.schedule, ${schema}.statistic, ${schema}.statistic_sum, ${schema}.statistic_owner, ${schema}.statistic_place, ${schema}.run_text, ${schema}.text_due;
    DROP FUNCTION ${schema}.begin_sums_1, ${schema}.sum_hours_1, ${schema}.statistic_gone_1;
    DROP FUNCTION ${schema}.text_due_1, ${schema}.text_removed_1, ${schema}.text_renamed_1 CASCADE;
    DROP FUNCTION ${schema}.wait_opened_1, ${schema}.waits_given_1 CASCADE;
    ALTER TABLE ${schema}.wait DROP COLUMN agent;
    DROP FUNCTION ${schema}.read_2, ${schema}.join_lines_1, ${schema}.end_recent_1;
    DROP FUNCTION ${schema}.open_shard_1, ${schema}.switch_shard_1, ${schema}.close_shard_1, ${schema}.check_open_1, ${schema}.shard_of_1;
    DROP TABLE ${schema}.closed, ${schema}.emptied, ${schema}.taken;
    DROP TABLE ${schema}.recent, ${schema}.expansion, ${schema}.part, ${schema}.shard, ${schema}.reservation;
    ALTER TABLE ${schema}.run DROP COLUMN belongs_to, DROP COLUMN base, DROP COLUMN base_head, DROP COLUMN base_records`);
  const log = await openSchema(schema);
  onTestFinished(() => log.close());
  const { cursor } = await log.claim(asRunId("run-1"));
  const next = await log.append(cursor, nextEvents(cursor, 3));
  expect(next).toMatchObject({ head: 5 });
  await log.append(next, { ...nextEvents(next, 1), base: { head: 4, records: 0, data: "kept" } });
  expect(await log.read(asRunId("run-1"), { after: 0 })).toMatchObject({
    base: { head: 4, data: "kept" },
    head: 6,
  });
});

test("nodes that open an empty database at once create its tables once", async () => {
  const schema = newSchema();
  const logs = await Promise.all(Array.from({ length: 4 }, () => openSchema(schema)));
  onTestFinished(() => Promise.all(logs.map((log) => log.close())).then(() => {}));
  const made = await query(`SELECT version FROM ${schema}.migration`);
  expect(made.length).toBeGreaterThanOrEqual(8);
  expect(made).toEqual(made.map((_, index) => ({ version: index + 1 })));
  for (const [index, log] of logs.entries()) await startRun(log, `run-${index}`, 1);
  expect((await logs[0]?.list({ limit: 9, byCreation: true }))?.runs).toHaveLength(4);
});

test(
  "a node that opens the log alone keeps others out, and is kept out by them",
  { tags: "long" },
  async () => {
    const schema = newSchema();
    const shared = await openSchema(schema);
    await expect(openSchema(schema, { nodes: "one" })).rejects.toMatchObject({ code: "conflict" });
    await shared.close();
    const alone = await openSchema(schema, { nodes: "one" });
    await expect(openSchema(schema)).rejects.toMatchObject({ code: "conflict" });
    await alone.close();
    const again = await openSchema(schema);
    await again.close();
  },
);

/** Starts a claim, which waits for a lock on the runs until `release` has run a statement. */
async function locked(
  log: EventLog,
  claim: () => Promise<Claim>,
): Promise<{ readonly claimed: Promise<Claim>; release(text: string): Promise<void> }> {
  const holder = new pg.Client({ connectionString: await postgresUrl() });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query(`BEGIN; SELECT FROM ${schemaOf(log)}.run FOR UPDATE`);
  const claimed = claim();
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
  await expect.poll(() => query(waiting, [`%${schemaOf(log)}.claim_3%`])).toHaveLength(1);
  return {
    claimed,
    async release(text) {
      await holder.query(`${text}; COMMIT`);
    },
  };
}

/** Opens an empty log, for the rest of the test. */
async function open(options: Parameters<typeof postgresLog>[0]): Promise<EventLog> {
  // A server of its own has no other log.
  const isOwn =
    options?.url !== undefined && options.url !== (await postgresUrl()) && !options.url.includes("127.0.0.1");
  const log = isOwn ? await postgresLog(options) : await openEmpty(options);
  onTestFinished(() => log.close());
  return log;
}
