/** @module-tag long */
import { expect, onTestFinished, test, vi } from "vitest";
import { Fenced } from "../../../src/ports/event-log.ts";
import type { Cursor, EventLog } from "../../../src/ports/event-log.ts";
import { DatabaseHealth } from "../../../src/storage/postgres/connection/database-health.ts";
import { Database } from "../../../src/storage/postgres/connection/database.ts";
import { events, nextEvents, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { postgresLog } from "troupe/postgres";
import type { PostgresLogOptions } from "troupe/postgres";
import pg from "pg";
import { needsPostgres, ownPostgres, postgresUrl } from "../../machine/postgres.ts";
import { ask } from "./databases.ts";
import { openEmpty, openProxy, openSchema, query, schemaOf } from "./logs.ts";

needsPostgres();

test("a node whose new listening connection ends before the node uses it listens again", async () => {
  const [pool, listening] = [await openProxy(await postgresUrl()), await openProxy(await postgresUrl())];
  const log = await open({ url: pool.url, listenUrl: listening.url });
  const key = `hashtextextended('troupe serves ${schemaOf(log)}', 0)`;
  const countListening = async (): Promise<number> =>
    (await query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = (${key} & 4294967295)::oid`))
      .length;

  // The new connection waits for a query over another one.
  const silenced = pool.silenceAt("synchronous_standby_names");
  listening.cut();
  listening.mend();
  await silenced;
  listening.cut();
  await expect.poll(countListening).toBe(0);
  listening.mend();
  pool.mend();
  await expect.poll(countListening).toBe(1);
});

test("the settings of the server are read each minute, and at once on a new connection", async () => {
  const database = await Database.connect({ url: await postgresUrl() });
  onTestFinished(async () => void (await database.close()));
  const health = new DatabaseHealth(database);
  onTestFinished(() => health.close());
  const reads = vi.spyOn(database, "once");
  health.warn([]);
  await health.check({ isAnother: false });
  expect(reads).toHaveBeenCalledTimes(0);
  await health.check({ isAnother: true });
  expect(reads).toHaveBeenCalledTimes(1);
  await health.check({ isAnother: false });
  expect(reads).toHaveBeenCalledTimes(1);
  const nowMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(nowMs + 60_000);
  onTestFinished(() => clock.mockRestore());
  await health.check({ isAnother: false });
  expect(reads).toHaveBeenCalledTimes(2);
});

test(
  "a node that watches all runs finds every one that changed without a message, however many",
  { tags: "long" },
  async () => {
    const log = await open({});
    await startRun(log, "run", 1);
    const seen = new Set<string>();
    onTestFinished(log.watch((id) => seen.add(id)));
    // By a look into the database, after which a look finds only what is newer.
    await expect.poll(() => seen.has("run")).toBe(true);
    await query(`INSERT INTO ${schemaOf(log)}.run (id, epoch, appends, stored, agent, updated_at)
    SELECT 'silent-' || n, 1, 1, true, 'echo', 1000 + n / 2 FROM generate_series(1, 2500) AS n`);
    await expect.poll(() => seen.size).toBe(2_501);
  },
);

test("an append whose answer is lost is acknowledged only when the synchronous standby has it", async (context) => {
  const server = await ownPostgres(context);
  const log = await open({ url: server.url, settleMs: 120_000 });
  let cursor = await startRun(log, "run", 1);
  const waiting = (): ReturnType<typeof ask> =>
    ask(server.url, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  await ask(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'away'");
  await ask(server.url, "SELECT pg_reload_conf()");
  await expect
    .poll(async () => ask(server.url, "SHOW synchronous_standby_names"))
    .toEqual([{ synchronous_standby_names: "away" }]);

  const append = (): Promise<Cursor> => Promise.resolve(log.append(cursor, nextEvents(cursor, 2)));
  const isHeld = async (appending: Promise<Cursor>): Promise<boolean> => {
    let hasEnded = false;
    void appending.then(() => {
      hasEnded = true;
    });
    while (!hasEnded) if ((await waiting()).length === 1) return true;
    return false;
  };
  let appended = append();
  // The connection of the log reads the new setting a little later than a new connection does.
  while (!(await isHeld(appended))) {
    cursor = await appended;
    appended = append();
  }
  const [first] = await waiting();
  // The server keeps the append, although the standby does not have it.
  await ask(server.url, "SELECT pg_terminate_backend($1)", [first?.["pid"]]);
  let isAcknowledged = false;
  void appended.then(() => {
    isAcknowledged = true;
  });
  await expect
    .poll(async () => isAcknowledged || (await waiting()).some(({ pid }) => pid !== first?.["pid"]))
    .toBe(true);
  expect(isAcknowledged).toBe(false);

  await ask(server.url, "ALTER SYSTEM RESET synchronous_standby_names");
  await ask(server.url, "SELECT pg_reload_conf()");
  const { head } = await appended;
  expect(head).toBe(cursor.head + 2);
  expect((await log.read(asRunId("run"), { after: 0, records: true })).events).toEqual(events(1, head));
});

test("a statement that a node has given up ends on the server too", async () => {
  const log = await open({ settleMs: 120_000 });
  const cursor = await startRun(log, "run", 1);
  const appends = `%${schemaOf(log)}.append_2%`;
  const waiting = async (): Promise<readonly unknown[]> =>
    query("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1", [appends]);
  const operator = await connect();
  await operator.query(`BEGIN; LOCK TABLE ${schemaOf(log)}.run`);
  const appended = log.append(cursor, nextEvents(cursor, 2));
  await expect.poll(waiting).toHaveLength(1);
  const [first] = await waiting();
  await expect.poll(() => log.figures?.().retries).toBe(1);
  await expect.poll(waiting).toEqual([expect.not.objectContaining(first as object)]);
  await operator.query("COMMIT");
  expect(await appended).toMatchObject({ head: 3 });
});

test("a run with more appends than a statement deletes in its time is removed in pieces, all of them or none", async () => {
  const log = await open({});
  const schema = schemaOf(log);
  log.release(await startRun(log, "run", 1));
  // As 3,000 appends have written them.
  await query(`INSERT INTO ${schema}.batch (run, head, n, count, records_end, body)
    SELECT 'run', 1 + n / 2, 1 + n, n % 2, 0, '{}' FROM generate_series(1, 3000) AS n`);
  await query(`UPDATE ${schema}.run SET appends = 3001, head = 1501`);
  await query(`CREATE TABLE ${schema}.deleted (n bigint)`);
  await query(`CREATE FUNCTION ${schema}.count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO ${schema}.deleted SELECT count(*) FROM gone; RETURN NULL; END $$`);
  await query(`CREATE TRIGGER count_deleted AFTER DELETE ON ${schema}.batch REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.count_deleted()`);
  const { cursor } = await log.claim(asRunId("run"));

  // Another node takes the run while its content is being deleted: everything stays.
  await query(`CREATE FUNCTION ${schema}.take() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE ${schema}.run SET epoch = nextval('${schema}.epoch'); RETURN NULL; END $$`);
  await query(`CREATE TRIGGER take AFTER DELETE ON ${schema}.batch EXECUTE FUNCTION ${schema}.take()`);
  await expect(log.remove(cursor)).rejects.toBeInstanceOf(Fenced);
  expect(await query(`SELECT count(*)::int AS n FROM ${schema}.batch`)).toEqual([{ n: 3001 }]);
  await query(`DROP TRIGGER take ON ${schema}.batch`);

  await log.remove((await log.claim(asRunId("run"))).cursor);
  expect(await log.run(asRunId("run"))).toMatchObject({ removed: true });
  expect(await query(`SELECT count(*)::int AS n FROM ${schema}.batch`)).toEqual([{ n: 0 }]);
  const [deleted] = await query(`SELECT sum(n)::int AS all, max(n)::int AS most FROM ${schema}.deleted`);
  expect(deleted).toEqual({ all: 3001, most: expect.any(Number) as number });
  expect(deleted?.["most"]).toBeLessThanOrEqual(500);
});

test("a node that vanishes in the middle of a transaction does not keep its locks", async () => {
  const proxy = await openProxy(await postgresUrl());
  const a = await open({ url: proxy.url, settleMs: 120_000 });
  const b = await openSchema(schemaOf(a), { settleMs: 120_000 });
  onTestFinished(() => b.close());
  const body = Buffer.from("some bytes");
  await a
    .artifacts?.()
    .put({ artifactId: "file", name: "file", mimeType: "text/plain", body, limitBytes: 100 });
  const vanished = proxy.silenceAt(`INSERT INTO ${schemaOf(a)}.artifact_run`);
  const attached = a.artifacts?.().attach(["file"], asRunId("of-a"));
  await vanished;
  await b.artifacts?.().attach(["file"], asRunId("of-b"));
  proxy.mend();
  await attached;
  expect(await b.artifacts?.().get("file")).toMatchObject({ runIds: ["of-b", "of-a"] });
});

test(
  "a node that vanishes while it stores a file does not keep the next one from storing it",
  { tags: "long" },
  async () => {
    const proxy = await openProxy(await postgresUrl());
    const a = await open({ url: proxy.url, settleMs: 120_000 });
    const b = await openSchema(schemaOf(a), { settleMs: 0 });
    onTestFinished(() => b.close());
    const body = Buffer.from("some bytes");
    const file = { artifactId: "file", name: "file", mimeType: "text/plain", body, limitBytes: 100 };
    const vanished = proxy.silenceAt(`INSERT INTO ${schemaOf(a)}.artifact_chunk`);
    const stored = a.artifacts?.().put(file);
    await vanished;
    expect(await b.artifacts?.().put(file)).toMatchObject({ artifactId: "file", sizeBytes: 10 });
    proxy.mend();
    expect(await stored).toMatchObject({ artifactId: "file", sizeBytes: 10 });
  },
);

test("a log closes also while its database does not answer", { tags: "long" }, async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await openEmpty({ url: proxy.url });
  await startRun(log, "run", 1);
  proxy.silence();
  await log.close();
  expect(log.health()).toMatchObject({ writable: false, reason: "the log is closed" });
  proxy.mend();
});

/** Opens an empty log, for the rest of the test. */
async function open(options: PostgresLogOptions): Promise<EventLog> {
  const isOwn = options.url !== undefined && !options.url.includes("127.0.0.1");
  const log = isOwn ? await postgresLog(options) : await openEmpty(options);
  onTestFinished(() => log.close());
  return log;
}

/** A connection for the rest of the test. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
