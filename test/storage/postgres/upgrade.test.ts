// What earlier versions have written, and their nodes beside those of this version.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createRuntime } from "troupe";
import type { Principal, Runtime } from "troupe";
import { nodeEnvironment } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { Fenced } from "../../../src/ports/event-log.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { countOne } from "../../../src/ports/statistics.ts";
import type { StatisticsEntry } from "../../../src/ports/statistics.ts";
import { encodeTexts } from "../../../src/protocol/events/texts.ts";
import type { Texts } from "../../../src/protocol/events/texts.ts";
import { inspectPostgres, migratePostgres } from "../../../src/storage/postgres/inspect.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../../src/storage/postgres/schema/migrate.ts";
import { asRunId, events, row, startRun, texts } from "../../../src/testing/event-log/subject.ts";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { temporaryDirectory } from "../directories.ts";
import { desk } from "./earlier/desk.ts";
import { OlderNode } from "./earlier/older-node.ts";
import { newSchema, openSchema, query } from "./logs.ts";
import { shortened } from "../../machine/long.ts";

needsPostgres();

const ANN: Principal = { id: "ann", owner: "default", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

// Each file was written by a server of that time, whose agent is `desk`. 1 is the first schema that there was, 4 the last one without
// owners, 10 the one before the newest.
test.each(shortened([10, 4, 1], 0))(
  "a database of schema %i opens, and its runs go on for the owner default",
  async (version) => {
    const schema = newSchema();
    await createEarlier(schema, version);
    const written = await readFile(join(import.meta.dirname, `earlier/schema-${version}.sql`), "utf8");
    await query(written.replaceAll("troupe.", `${schema}.`));
    const runtime = await serve(schema);
    const [ann, bob] = [runtime.as(ANN), runtime.as(BOB)];

    expect((await ann.runs({ limit: 10 })).runs).toHaveLength(4);
    expect((await bob.runs({ limit: 10 })).runs).toEqual([]);
    await expect(bob.status("pay-1")).rejects.toMatchObject({ code: "not_found" });
    await expect(ann.status("gone-1")).rejects.toMatchObject({ code: "gone" });
    const { run_id: noted } = await ann.status("note-1");
    expect(await isDone(ann, "note-2")).toBe("Good day: milk, bread (a secret value)");
    await ann.process("desk", { type: "ChatRequest", input: "salt", run_id: noted, request_id: "note-3" });
    expect(await isDone(ann, "note-3")).toBe("Good day: milk, bread, salt (a secret value)");
    expect(JSON.parse(await isDone(ann, "nap-1"))).toEqual({ slept: 45_000 });

    // One waits, and another one is behind it in the same run.
    const open = (await ann.waits({ limit: 10 })).events.map((event) => JSON.parse(event) as object);
    expect(open).toMatchObject([{ request_id: "pay-1", type: "WaitForInput" }]);
    for (const [id, amount] of [
      ["pay-1", 5],
      ["pay-2", 6],
    ] as const) {
      await expect.poll(async () => (await ann.status(id)).status).toBe("waiting");
      await ann.process("desk", { type: "ResumeWithInput", request_id: id, request_keys: { ok: true } });
      expect(JSON.parse(await isDone(ann, id))).toEqual({ paid: true, by: `provider ${amount}` });
    }
    expect(await ann.find("desk", "ann")).toBe((await ann.status("pay-2")).run_id);
  },
);

// A node of schema 9 is the oldest one that can go on beside this version.
test.each([9, 10])(
  "a node of schema %i and one of this version share the runs of a database",
  { tags: "long" },
  async (version) => {
    const schema = newSchema();
    await createEarlier(schema, version);
    const older = new OlderNode(schema, "older");
    const kept = await older.claim("kept");
    const spent = [{ day: 20_000, tokens: 7, cost: 0.5, raisedTokens: 0, raisedCost: 0 }];
    const first = { events: events(1, 2), records: [], run: row() };
    expect(await older.append("kept", kept, { ...first, spent })).toEqual([]);

    // The newer one starts in the middle of a run, whose older node goes on as if nothing had happened.
    const newer = await openLog(schema);
    const next = { ...kept, appends: 1 };
    expect(await older.append("kept", next, { events: events(3, 3), records: [], spent })).toEqual([]);
    expect(await read(newer, "kept")).toEqual(events(1, 3));
    expect(await newer.spending.on({ owner: "default", day: 20_000 })).toMatchObject({ tokens: 14, cost: 1 });

    // The older one reads what shares a row, and takes the run over in the middle of it.
    let cursor = await startRun(newer, "said", 1);
    for (const text of [2, 3, 4]) cursor = await newer.append(cursor, { events: [said(text)], records: [] });
    const lines = [...events(1, 1), ...[2, 3, 4].flatMap((text) => encodeTexts(said(text)))];
    expect(await query(`SELECT count FROM ${schema}.recent`)).toEqual([{ count: 3 }]);
    expect(await older.read("said")).toMatchObject({ head: 4 });
    expect(await older.read("said", 3)).toMatchObject({ head: 4 });
    const taken = await older.claim("said");
    expect(taken).toMatchObject({ head: 4 });
    await expect(async () => newer.append(cursor, { events: [said(5)], records: [] })).rejects.toBeInstanceOf(
      Fenced,
    );
    expect(await older.append("said", taken, { events: events(5, 5), records: [] })).toEqual([]);
    expect(await read(newer, "said")).toEqual([...lines, ...events(5, 5)]);

    // And the newer one takes both back: the older one is told so.
    const { cursor: back } = await newer.claim(asRunId("said"));
    expect(back.head).toBe(5);
    await newer.append(back, { events: [said(6)], records: [] });
    expect(
      await older.append(
        "said",
        { ...taken, appends: taken.appends + 1 },
        { events: events(6, 6), records: [] },
      ),
    ).toEqual([expect.arrayContaining(["fenced"])]);
    await older.release("kept", kept);
    const again = await older.claim("kept");
    expect(await older.remove("kept", again)).toBe(true);
    await expect(newer.claim(asRunId("kept"))).resolves.toMatchObject({ cursor: { head: 0 } });
  },
);

test("what a node of schema 13 counts and removes is in the sums of this version", async () => {
  const schema = newSchema();
  await createEarlier(schema, 13);
  const older = new OlderNode(schema, "older");
  const claimed = await older.claim("run");
  const ended = (owner: string, hour: number, cost = 0.5): StatisticsEntry => ({
    hour: 480_000 + hour,
    owner,
    kind: "completion",
    agent: "desk",
    name: "small",
    outcome: "success",
    ...countOne(5),
    cost,
  });
  const before = [ended("acme", 1), ended("bolt", 1), ended("acme", 30), ended("acme", 400)];
  const first = { events: events(1, 1), records: [], run: row(), statistics: before };
  expect(await older.append("run", claimed, first)).toEqual([]);

  const newer = await openLog(schema);
  const spent = async (by: "owner" | "day"): Promise<unknown> => {
    const groups = await newer.statistics.sum({ by, from: 480_000, until: 480_999 });
    return groups
      .map(({ group, count, cost }) => [group, count, cost] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  };
  await newer.indexed?.();
  expect(await spent("owner")).toEqual([
    ["acme", 3, 1.5],
    ["bolt", 1, 0.5],
  ]);
  // The older one commits an end of an hour that is summed up already.
  const late = { events: events(2, 2), records: [], statistics: [ended("acme", 1, 2)] };
  expect(await older.append("run", { ...claimed, appends: 1 }, late)).toEqual([]);
  for (let reads = 0; reads < 2; reads += 1) {
    expect(await spent("day")).toEqual([
      [480_000, 3, 3],
      [480_024, 1, 0.5],
      [480_384, 1, 0.5],
    ]);
    await newer.indexed?.();
  }
  // And erases an owner, by the statement that it knows.
  await query(`DELETE FROM ${schema}.statistic WHERE owner = $1`, ["acme"]);
  expect(await spent("owner")).toEqual([["bolt", 1, 0.5]]);
  expect(await spent("day")).toEqual([[480_000, 1, 0.5]]);
  expect(await query(`SELECT DISTINCT owner FROM ${schema}.statistic_owner`)).toEqual([{ owner: "bolt" }]);
});

test("a schema that is newer is refused, with what to do, and nothing is changed", async () => {
  const schema = newSchema();
  await (await openSchema(schema)).close();
  await query(`INSERT INTO ${schema}.migration VALUES ($1, now())`, [SCHEMA_VERSION + 1]);
  await expect(openSchema(schema)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(
      `the database has schema ${SCHEMA_VERSION + 1}, and this version of troupe knows ${SCHEMA_VERSION} and older`,
    ) as string,
  });
  expect(await query(`SELECT max(version) AS version FROM ${schema}.migration`)).toEqual([
    { version: SCHEMA_VERSION + 1 },
  ]);
});

test("a newer schema that lets nodes of this version write is used as it is", { tags: "long" }, async () => {
  const schema = newSchema();
  await (await openSchema(schema)).close();
  await query(`INSERT INTO ${schema}.expansion VALUES ($1, now())`, [SCHEMA_VERSION + 1]);
  const log = await openLog(schema);
  await startRun(log, "run", 2);
  expect(await read(log, "run")).toEqual(events(1, 2));
  const unmigrated = await openSchema(schema, { migrate: false });
  await unmigrated.close();
  const url = await postgresUrl();
  expect(await inspectPostgres({ url, schema })).toMatchObject({
    schema: SCHEMA_VERSION + 1,
    needed: SCHEMA_VERSION,
  });
  expect(await migratePostgres({ url, schema })).toEqual({
    from: SCHEMA_VERSION + 1,
    to: SCHEMA_VERSION + 1,
  });
  await expect(migratePostgres({ url, schema }, { to: SCHEMA_VERSION })).rejects.toMatchObject({
    details: { hint: expect.stringContaining("of the newer version") as string },
  });
  // A version later the newer one takes something away, and says which nodes may go on.
  await query(`INSERT INTO ${schema}.migration VALUES ($1, now())`, [SCHEMA_VERSION + 1]);
  await query(`INSERT INTO ${schema}.expansion VALUES ($1, now())`, [SCHEMA_VERSION + 2]);
  await expect(openSchema(schema)).rejects.toMatchObject({
    message: `the database has schema ${SCHEMA_VERSION + 2}, for nodes of schema ${SCHEMA_VERSION + 1} and newer, and this version of troupe knows ${SCHEMA_VERSION} and older`,
  });
});

test(
  "changes of the schema are taken back, as if they had never been made, and made again",
  { tags: "long" },
  async () => {
    const schema = newSchema();
    const to = { url: await postgresUrl(), schema };
    const log = await openSchema(schema);
    let cursor = await startRun(log, "run", 2);
    await expect(migratePostgres(to, { to: 13 })).rejects.toMatchObject({
      code: "conflict",
      message: "a node has the log in this database open",
    });
    const entry: StatisticsEntry = {
      hour: 480_000,
      owner: "acme",
      kind: "turn",
      agent: "desk",
      name: "chat",
      outcome: "success",
      ...countOne(5),
    };
    cursor = await log.append(cursor, { events: events(3, 3), records: [], statistics: [entry] });
    log.release(cursor);
    await log.indexed?.();
    await log.close();

    for (const version of [18, 17, 16, 15, 14, 13, 12]) {
      expect(await migratePostgres(to, { to: version })).toEqual({ from: version + 1, to: version });
      const asBefore = newSchema();
      await createEarlier(asBefore, version);
      expect(await objectsOf(schema)).toEqual(await objectsOf(asBefore));
    }
    const older = new OlderNode(schema, "older");
    const claim = await older.claim("run");
    const next = { events: events(4, 4), records: [], statistics: [entry] };
    expect(await older.append("run", claim, next)).toEqual([]);

    await expect(migratePostgres(to, { to: 11 })).rejects.toMatchObject({
      message: "schema 11 cannot hold what is there: 1 rows of statistics",
      details: { hint: expect.stringMatching(/^nothing was changed/) as string },
    });
    await expect(migratePostgres(to, { to: 10 })).rejects.toMatchObject({
      message: "there is no way back from schema 12 to 10, only to 11",
    });
    await expect(migratePostgres(to, { to: SCHEMA_VERSION + 1 })).rejects.toMatchObject({
      message: `this version of troupe knows schema ${SCHEMA_VERSION} and older`,
    });

    const again = await openLog(schema);
    await again.indexed?.();
    expect(await read(again, "run")).toEqual(events(1, 4));
    expect(await again.statistics.sum({ by: "agent", from: 480_000, until: 480_001 })).toMatchObject([
      { count: 2 },
    ]);
    expect((await again.list({ limit: 9, text: "run" })).runs.map(({ runId }) => runId)).toEqual(["run"]);
  },
);

test("waits have the agents of their runs, also those that a node of schema 16 has opened and opens", async () => {
  const schema = newSchema();
  await createEarlier(schema, 16);
  const older = new OlderNode(schema, "older");
  const wait = async (runId: string, agent: string): Promise<void> => {
    const waits = [{ waitId: 1, requestId: `req_${runId}` as const, openedAt: 1 }];
    const batch = { events: events(1, 1), records: [], run: { ...row(), agent }, waits };
    expect(await older.append(runId, await older.claim(runId), batch)).toEqual([]);
  };
  await wait("before", "clerk");
  await wait("other", "cook");
  const log = await openLog(schema);
  await wait("since", "clerk");
  const waiting = async (agent: string): Promise<readonly string[]> =>
    (await log.waits({ agent, limit: 9 })).waits.map(({ runId }) => runId);
  expect(await waiting("clerk")).toEqual(["before", "since"]);
  expect(await waiting("cook")).toEqual(["other"]);

  // A copy has no agent until it is whole.
  const { cursor } = await log.claim(asRunId("copy"));
  const waits = [{ waitId: 1, requestId: "req_copy" as const, openedAt: 1 }];
  const hidden = { events: events(1, 1), records: [], run: { ...row(), agent: "" }, waits };
  const next = await log.append(cursor, hidden);
  await log.append(next, { events: [], records: [], run: { ...row(), agent: "cook" } });
  expect(await waiting("cook")).toEqual(["copy", "other"]);

  // The rows of a copied shard come in any order.
  await query(
    `INSERT INTO ${schema}.wait (run, id, request, opened_at, agent) VALUES ('late', 1, 'req_late', 1, 'cook')`,
  );
  expect(await waiting("cook")).toEqual(["copy", "late", "other"]);
});

test("an index that an interrupted update has left half made is made again", async () => {
  const schema = newSchema();
  await createEarlier(schema, 17);
  const older = new OlderNode(schema, "older");
  const claim = await older.claim("before");
  await older.append("before", claim, { events: events(1, 2), records: [], run: row() });
  await query(`CREATE INDEX run_agent_18 ON ${schema}.run (agent);
    UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${schema}.run_agent_18'::regclass`);
  const log = await openLog(schema);
  onTestFinished(() => log.close());
  expect((await log.list({ limit: 9, agent: row().agent })).runs).toMatchObject([{ runId: "before" }]);
  const indexes = await query(
    `SELECT relname AS name, pg_get_indexdef(indexrelid) AS text, indisvalid AS "isWhole"
      FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE indrelid = '${schema}.run'::regclass`,
  );
  expect(indexes.filter(({ name, isWhole }) => String(name).endsWith("_18") || isWhole !== true)).toEqual([]);
  expect(indexes.find(({ name }) => name === "run_agent")?.text).toContain(
    "(agent, updated_at DESC, id, status)",
  );
});

test(
  "a dump is a way back too: an older node has what was there before the update, and nothing since",
  { tags: "long" },
  async () => {
    const schema = newSchema();
    await createEarlier(schema, SCHEMA_VERSION - 1);
    const older = new OlderNode(schema, "older");
    const before = await older.claim("before");
    await older.append("before", before, { events: events(1, 2), records: [], run: row() });
    const dump = join(temporaryDirectory(), "agents.dump");
    const run = promisify(execFile);
    await run("pg_dump", ["--format=custom", `--file=${dump}`, `--schema=${schema}`, await postgresUrl()]);
    const newer = await openLog(schema);
    await startRun(newer, "since", 1);
    await newer.close();

    await query(`DROP SCHEMA ${schema} CASCADE`);
    await run("pg_restore", [`--dbname=${await postgresUrl()}`, dump]);
    expect(await query(`SELECT max(version) AS version FROM ${schema}.migration`)).toEqual([
      { version: SCHEMA_VERSION - 1 },
    ]);
    const restored = new OlderNode(schema, "restored");
    expect(await restored.read("before")).toEqual({ head: 2, lines: events(1, 2) });
    const claim = await restored.claim("before");
    expect(await restored.append("before", claim, { events: events(3, 3), records: [] })).toEqual([]);
    expect(await restored.read("since")).toMatchObject({ lines: [] });
  },
);

/** Creates the tables and functions as a version before had them. */
async function createEarlier(schema: string, version: number): Promise<void> {
  const statements = MIGRATIONS.slice(0, version)
    .join(";\n")
    .replaceAll(/\btroupe\./g, `${schema}.`);
  await query(`CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.migration (version integer PRIMARY KEY, at timestamptz NOT NULL);
    INSERT INTO ${schema}.migration SELECT n, now() FROM generate_series(1, ${version}) AS n;
    ${statements}`);
}

/** What is in a schema besides its rows. */
async function objectsOf(schema: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)("pg_dump", [
    "--schema-only",
    `--schema=${schema}`,
    `--exclude-table=${schema}.expansion`,
    await postgresUrl(),
  ]);
  // The newest versions of pg_dump have a key in it that is another one each time.
  return stdout.replaceAll(schema, "troupe").replaceAll(/^\\(un)?restrict .*$/gm, "");
}

async function openLog(schema: string): Promise<EventLog> {
  const log = await openSchema(schema, { cacheBytes: 0 });
  onTestFinished(() => log.close());
  return log;
}

async function serve(schema: string): Promise<Runtime> {
  const log = await openSchema(schema, { secretsKey: "a key of thirty-two characters .." });
  const artifacts = log.artifacts?.();
  const secrets = log.secrets?.();
  if (artifacts === undefined || secrets === undefined) throw new Error("the log has no stores");
  const runtime = createRuntime({ agents: [desk], log, artifacts, secrets, environment: nodeEnvironment() });
  onTestFinished(async () => {
    await runtime.close();
    await log.close();
  });
  await runtime.ready();
  return runtime;
}

/** Resolves with the result of a request when it has ended. */
async function isDone(runtime: Runtime, requestId: string): Promise<string> {
  await expect.poll(async () => (await runtime.status(requestId)).status).toBe("completed");
  return (await runtime.status(requestId)).result ?? "";
}

async function read(log: EventLog, runId: string): Promise<readonly string[]> {
  const { events: found } = await log.read(asRunId(runId), { after: 0 });
  return found.flatMap((item) => (typeof item === "string" ? item : encodeTexts(item)));
}

/** A text with an id. */
function said(id: number): Texts {
  return texts(asRunId("said"), id, id);
}
