/** @module-tag long */
import { countOne } from "../../../src/ports/statistics.ts";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { RequestMark } from "../../../src/ports/log-batch.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { createSpeaker, encodeEvent } from "../../../src/protocol/events/encode.ts";
import type { EventBody } from "../../../src/protocol/events/event-body.ts";
import { RUN_FAILED, revertSchema } from "../../../src/storage/sqlite/format/schema.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import {
  events,
  nextEvents,
  asRequestId,
  asRunId,
  row,
  startRun,
  texts,
} from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../directories.ts";
import { SQLITE } from "../../../src/storage/sqlite/reader/dialect.ts";
import { QUERIES } from "../../../src/storage/sqlite/reader/reader.ts";

test("a log of format 1 is opened, and its requests can sleep", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const mark: RequestMark = { requestId: asRequestId("first"), phase: "running", createdAt: 1, started: 1 };
  await log.append(cursor, { events: [], records: [], requests: [mark] });
  await log.close();
  toFirstForm(join(directory, "log.db"));

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(await again.open()).toMatchObject([{ requestId: "first", phase: "running" }]);
  const { cursor: next } = await again.claim(cursor.runId);
  const requests = [{ requestId: mark.requestId, phase: "running", wakeAt: 9 } as const];
  await again.append(next, { events: [], records: [], requests });
  expect(await again.waking({})).toMatchObject([{ requestId: "first", wakeAt: 9 }]);
});

test("a log of format 2 is opened, and its runs keep their events", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { runId } = await startRun(log, "run", 3);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toSecondForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const { events } = await again.read(runId, { after: 0 });
  expect(events).toHaveLength(3);
});

test("a log of format 3 is opened, and its runs refer to the secrets in their records", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const first = await startRun(log, "first", 1);
  const args = { api: [{ key: { $secret: "config-agent.api.0.key" } }], other: { $secret: "run_1.other" } };
  const records = [{ n: 1, after: 1, type: "ConfigRecorded", version: 1, args }];
  await log.append(first, { events: [], records });
  const second = await startRun(log, "second", 1);
  const again = [{ n: 1, after: 1, type: "Configured", args: { key: { $secret: "config-agent.key" } } }];
  await log.append(second, { events: [], records: again });
  let config = await startRun(log, "config-agent", 0);
  for (const [n, name] of [
    [1, "config-agent.old"],
    [2, "config-agent.now"],
  ] as const) {
    const changed = [{ n, after: 0, type: "ConfigRecorded", version: n, args: { key: { $secret: name } } }];
    config = await log.append(config, { events: [], records: changed });
  }
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toThirdForm(database);
  database.close();

  const later = sqliteLog(directory);
  onTestFinished(() => later.close());
  const [key, other, called] = ["config-agent.api.0.key", "run_1.other", "config-agent.key"] as const;
  expect(await later.unreferenced([key, other, called, "run_2.other"])).toEqual(["run_2.other"]);
  // Of the configuration of an agent, only the newest counts.
  expect(await later.unreferenced(["config-agent.old", "config-agent.now"])).toEqual(["config-agent.old"]);
  expect(await later.remove((await later.claim(first.runId)).cursor)).toEqual([key, other]);
  expect(await later.remove((await later.claim(second.runId)).cursor)).toEqual([called]);
});

test("a log of format 4 is opened, and each alias belongs to the agent of its run", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const agent of ["first", "second"]) {
    const cursor = await startRun(log, agent, 1);
    await log.append(cursor, { events: [], records: [], run: row({ agent }), alias: { agent, name: agent } });
  }
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toFourthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(await again.find({ agent: "first", name: "first" })).toBe("first");
  expect(await again.find({ agent: "second", name: "first" })).toBeUndefined();
  const { cursor } = await again.claim("second");
  await again.append(cursor, { events: [], records: [], alias: { agent: "second", name: "first" } });
  expect(await again.find({ agent: "second", name: "first" })).toBe("second");
});

test("a log of format 7 is opened, and its runs continue", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { runId } = await startRun(log, "run", 3);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toSeventhForm(database);
  database.close();

  for (let head = 3; head < 6; head += 1) {
    const again = sqliteLog(directory);
    const { cursor } = await again.claim(runId);
    expect(cursor.head).toBe(head);
    await again.append(cursor, nextEvents(cursor, 1));
    expect((await again.read(runId, { after: 0 })).events).toEqual(events(1, head + 1));
    await again.close();
  }
});

test("a log of format 8 is opened, and its runs get outboxes and the request that has started", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const requests: RequestMark[] = [
    { requestId: "before", phase: "completed", createdAt: 1, completed: 1 },
    { requestId: "now", phase: "running", createdAt: 2, started: 1 },
    { requestId: "later", phase: "queued", createdAt: 3 },
  ];
  await log.append(cursor, { events: [], records: [], run: row({ status: "running" }), requests });
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toEighthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(await again.run("run")).toMatchObject({ started: "now" });
  const { cursor: next } = await again.claim("run");
  const outbox = [{ requestId: "now", kind: "reply", event: 1 } as const];
  await again.append(next, { events: [], records: [], outbox });
  expect(await again.outbox({})).toEqual([{ ...outbox[0], runId: "run" }]);
});

test("a log of format 9 is opened, and its sleeping requests say what they wait for", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const sleeping: RequestMark = { requestId: "sleeps", phase: "running", createdAt: 1, started: 1 };
  await log.append(cursor, { events: [], records: [], requests: [{ ...sleeping, wakeAt: 1_001 }] });
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toNinthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const waitingFor = { kind: "sleep", expires_at: "1970-01-01T00:00:01.001Z" };
  expect(await again.lookup("sleeps")).toMatchObject({ waitingFor, wakeAt: 1_001 });
  expect(await again.open()).toEqual([]);
});

test("a log of format 11 is opened, and its runs say how their next turns end", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  await startRun(log, "run", 1);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toEleventhForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect((await again.run("run"))?.lastTurn).toBeUndefined();
  const { cursor } = await again.claim("run");
  const lastTurn = { request_id: "req", operation: "chat", started_at: "2026-01-01T00:00:00.000Z" };
  const usage = { input_tokens: 3 };
  const next = await again.append(cursor, { events: [], records: [], run: row({ lastTurn, usage }) });
  expect(await again.run("run")).toMatchObject({ lastTurn, usage });
  await again.append(next, { events: [], records: [], run: row() });
  expect((await again.run("run"))?.lastTurn).toBeUndefined();
});

test("a log of format 10 is opened, and its runs continue with texts", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { runId } = await startRun(log, "run", 3);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toEleventhForm(database);
  database.exec("PRAGMA user_version = 10");
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const said = texts(runId, 4, 6);
  const { cursor } = await again.claim(runId);
  await again.append(cursor, { events: [said], records: [] });
  const { events: all } = await again.read(runId, { after: 0 });
  expect(toEncoded(all)).toEqual([...events(1, 3), ...toEncoded([said])]);
  // Older versions cannot read the texts.
  const reader = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  expect(reader.prepare("PRAGMA user_version").get()).not.toEqual({ user_version: 10 });
  reader.close();
});

test("a log of format 12 is opened, and its open waits are listed", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 0);
  const speaker = createSpeaker({ run_id: "run", request_id: "asks", agent: "agent", depth: 0 });
  const asking = { type: "WaitForInput", request_keys: {} } as const;
  const bodies: EventBody[] = [
    { type: "RequestStarted", operation: "chat", input: null },
    { ...asking, call_id: "c1.1" },
    { ...asking, call_id: "c1.2" },
    { ...asking, call_id: "c1.3.1" },
    { type: "ResumeWithInput", wait_id: 2, request_keys: {} },
    { type: "ToolError", function_name: "f", content: "", code: "canceled", tool_call_id: "c1.3" },
  ];
  const ts = "2026-01-01T00:00:00.000Z";
  const requests: RequestMark[] = [{ requestId: "asks", phase: "waiting", createdAt: 1, started: 1 }];
  await log.append(cursor, {
    events: bodies.map((body, index) => encodeEvent(speaker, index + 1, ts, body)),
    records: [],
    requests,
  });
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwelfthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(await again.waits({ limit: 10 })).toEqual({
    waits: [{ runId: "run", requestId: "asks", waitId: 3, openedAt: Date.parse(ts) }],
  });
});

test("a log of format 12 with a damaged run is opened, and lists the waits of the others", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const runId of ["hurt", "sound"]) {
    const { cursor } = await log.claim(runId);
    const speaker = createSpeaker({ run_id: runId, request_id: runId, agent: "agent", depth: 0 });
    const wait = { type: "WaitForInput", request_keys: { key: `of ${runId}` }, call_id: "c1.1" } as const;
    const events = [encodeEvent(speaker, 1, "2026-01-01T00:00:00.000Z", wait)];
    const requests: RequestMark[] = [{ requestId: runId, phase: "waiting", createdAt: 1, started: 1 }];
    await log.append(cursor, { events, records: [], run: row(), requests });
  }
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwelfthForm(database);
  database.exec("UPDATE chunk SET body = replace(body, 'of hurt', 'of Hurt')");
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect((await again.waits({ limit: 10 })).waits).toMatchObject([{ runId: "sound", waitId: 1 }]);
  await expect(again.read("hurt", { after: 0 })).rejects.toThrow("damaged");
});

test("a log of format 13 is opened, and lists the requests of a run in their order", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const requests = ["third", "first", "second"].map((name, index): RequestMark => {
    return { requestId: name, phase: "queued", createdAt: 1, accepted: { n: index + 1, after: 1 } };
  });
  await log.append(cursor, { events: [], records: [], requests });
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toThirteenthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const listed = await again.requests({ runId: "run", limit: 2 });
  expect(listed.map((entry) => entry.requestId)).toEqual(["second", "first"]);
});

test("a log of format 14 is opened, and lists its runs from the newest and by their status", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const runId of ["run_c", "run_a", "run_b"]) await startRun(log, runId, 1);
  const before = await log.list({ limit: 5 });
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toFourteenthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(before.runs).toHaveLength(3);
  expect(await again.list({ limit: 5 })).toEqual(before);
  const { status } = before.runs[0] ?? {};
  for (const query of [{ agent: "echo" }, { status: status ?? "idle" }])
    expect(await again.list({ ...query, limit: 5 })).toEqual(before);
});

test("lists of runs are read from an index in their order, from either end", async () => {
  const directory = temporaryDirectory();
  await sqliteLog(directory).close();
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  onTestFinished(() => database.close());
  const plan = (where: string, order: string, from = "run"): string =>
    JSON.stringify(
      database
        .prepare(
          `EXPLAIN QUERY PLAN SELECT rid FROM ${from} WHERE removed = 0 ${where} ORDER BY ${order} LIMIT 10`,
        )
        .all(),
    );
  for (const order of ["updated DESC, run_id", "updated, run_id DESC"]) {
    for (const [where, from] of [
      [`AND ${RUN_FAILED}`, SQLITE.run.ofFailed],
      [`AND ${RUN_FAILED} AND owner <> 'default' AND owner = 'a'`, SQLITE.run.ofFailedOfOwner],
    ] as const)
      expect(plan(where, order, from)).not.toContain("TEMP B-TREE");
    for (const [where, index] of [
      ["", "run_updated"],
      ["AND agent = 'a'", "run_agent"],
      ["AND status > 0 AND status = 1", "run_busy"],
      ["AND updated <= 5 AND (updated < 5 OR run_id > 'r')", "run_updated"],
    ] as const) {
      expect(plan(where, order)).toContain(`INDEX ${index}`);
      expect(plan(where, order)).not.toContain("TEMP B-TREE");
    }
  }
});

test("a log of an unknown format is refused", async () => {
  const directory = temporaryDirectory();
  await sqliteLog(directory).close();
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec("PRAGMA user_version = 99");
  database.close();

  expect(() => sqliteLog(directory)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining("the log has format 99") as string,
      details: { hint: expect.stringContaining("npm install troupe@latest") as string },
    }),
  );
});

test("a log of format 6 is opened, and its runs are listed in the order of their creation", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const runId of ["run_c", "run_a", "run_b"]) await startRun(log, runId, 1);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toSixthForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const { runs, total } = await again.list({ agent: "echo", byCreation: true, limit: 2, total: true });
  expect(runs.map(({ runId }) => runId)).toEqual(["run_c", "run_a"]);
  expect(total).toBe(3);
});

test("a log of format 15 finds the queued requests of a run without its others", async () => {
  const directory = temporaryDirectory();
  await sqliteLog(directory).close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toFifteenthForm(database);
  database.close();
  await sqliteLog(directory).close();
  const reader = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  onTestFinished(() => reader.close());
  const plan = reader.prepare(`EXPLAIN QUERY PLAN SELECT ${SQLITE.run.queued} FROM run WHERE rid = 1`).all();
  expect(JSON.stringify(plan)).toContain("request_queued");
});

test("what a log of format 16 has belongs to the owner default", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  const { cursor } = await before.claim("run");
  await before.append(cursor, {
    events: [],
    records: [],
    run: { ...ROW, status: "waiting" },
    requests: [{ requestId: "req", phase: "waiting", createdAt: 1, accepted: { n: 1, after: 0 } }],
    waits: [{ waitId: 1, requestId: "req", openedAt: 1 }],
    alias: { agent: "echo", name: "key" },
  });
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toSixteenthForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const query = { owner: "default", limit: 10 };
  expect((await log.list(query)).runs.map(({ runId }) => runId)).toEqual(["run"]);
  expect((await log.waits(query)).waits).toHaveLength(1);
  expect(await log.find({ agent: "echo", name: "key" })).toBe("run");
  expect(await log.lookup("req", "default")).toMatchObject({ runId: "run" });
  expect(await log.run("run", "other")).toBeUndefined();
});

test("a log of format 23 is opened, and the words of its runs are found before and after its index has them", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  await startRun(before, "run-before", 3);
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwentyThirdForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const found = async (): Promise<readonly string[]> =>
    (await log.list({ limit: 9, text: "bef" })).runs.map(({ runId }) => runId);
  expect(await found()).toEqual(["run-before"]);
  await log.indexed?.();
  expect(await found()).toEqual(["run-before"]);
});

test("a log of format 24 is opened, and its hours are summed up, which changes no answer", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  const ended = { owner: "acme", kind: "turn", agent: "echo", name: "chat" } as const;
  const failed = { outcome: "error:timeout", runId: asRunId("run") };
  const { cursor } = await before.claim("run");
  await before.append(cursor, {
    ...nextEvents(cursor, 1),
    statistics: Array.from({ length: 400 }, (_, at) => ({
      ...ended,
      hour: 480_000 + at * 3,
      outcome: "success",
      ...(at % 50 === 0 && failed),
      ...countOne(at),
    })),
  });
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwentyFourthForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const time = { from: 480_007, until: 481_111 };
  const read = async (): Promise<unknown> =>
    Promise.all([
      log.statistics.sum({ ...time, by: "agent" }),
      log.statistics.sum({ ...time, by: "operation" }),
      log.statistics.sum({ ...time, by: "owner" }),
      log.statistics.sum({ ...time, by: "day" }),
      log.statistics.failed({ ...time, limit: 9 }),
    ]);
  const first = await read();
  await log.indexed?.();
  using look = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  expect(look.prepare("SELECT summed FROM statistic_place").get()).toEqual({ summed: 481_196 });
  expect(await read()).toEqual(first);
});

test("a log of format 22 is opened, and counts what its turns do from then on", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  await startRun(before, "run", 3);
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwentySecondForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  expect(await log.statistics.since()).toBeUndefined();
  const ended = { hour: 480_000, owner: "default", kind: "turn", agent: "echo", name: "chat" } as const;
  const entry = { ...ended, outcome: "success", ...countOne(7) };
  const { cursor } = await log.claim("run");
  await log.append(cursor, { ...nextEvents(cursor, 1), statistics: [entry] });
  expect(await log.statistics.list({ limit: 9 })).toEqual([entry]);
  expect(toEncoded((await log.read("run", { after: 0 })).events)).toHaveLength(4);
});

test("a log of format 21 is opened, and its runs can have schedules", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  await startRun(before, "run", 3);
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwentyFirstForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const { cursor } = await log.claim("run");
  await log.append(cursor, { ...nextEvents(cursor, 1), schedules: [{ id: "a", due: 5, data: {} }] });
  expect(await log.due({})).toEqual([{ runId: "run", id: "a", due: 5, data: {} }]);
  expect(toEncoded((await log.read("run", { after: 0 })).events)).toHaveLength(4);
});

test("a log of format 20 is opened, and counts what its owners spend from then on", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  await startRun(before, "run", 3);
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toTwentiethForm(database);
  database.close();

  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const spent = { tokens: 7, cost: 0.5, raisedTokens: 0, raisedCost: 0 };
  const { cursor } = await log.claim("run");
  await log.append(cursor, { ...nextEvents(cursor, 1), spent: [{ day: 20_000, ...spent }] });
  expect(await log.spending.on({ owner: "default", day: 20_000 })).toEqual(spent);
  expect(toEncoded((await log.read("run", { after: 0 })).events)).toHaveLength(4);
});

test("a log of format 19 is opened, its runs can begin later, and a list of dead letters reads no other messages", async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  const first = await startRun(before, "run", 3);
  await before.append(first, {
    events: [],
    records: [],
    outbox: [
      { requestId: "sent", kind: "reply", event: 1 },
      { requestId: "failed", kind: "dead", event: 2 },
    ],
  });
  await before.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toNineteenthForm(database);
  database.close();

  const log = sqliteLog(directory);
  const { cursor } = await log.claim("run");
  const base = { head: 3, records: 0, data: "kept" };
  await log.append(cursor, { ...nextEvents(cursor, 1), base });
  expect(await log.read("run", { after: 0 })).toMatchObject({ events: events(4, 4), base });
  expect(await log.outbox({ kind: "dead" })).toMatchObject([{ requestId: "failed" }]);
  await log.close();
  const reader = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  onTestFinished(() => reader.close());
  const { text, values } = QUERIES.outbox({ kind: "dead", newest: 10 });
  const plan = reader.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as number[]));
  expect(JSON.stringify(plan)).toContain("outbox_dead");
});

const ROW = {
  agent: "echo",
  status: "idle",
  createdAt: 1,
  updatedAt: 1,
  turns: 1,
  initialInput: null,
  metadata: {},
} as const;

/** Converts a database to format 24. */
function toTwentyFourthForm(database: DatabaseSync): void {
  revertSchema(database, 24);
}

/** Converts a database to format 23. */
function toTwentyThirdForm(database: DatabaseSync): void {
  revertSchema(database, 23);
}

/** Converts a database to format 22. */
function toTwentySecondForm(database: DatabaseSync): void {
  toTwentyThirdForm(database);
  database.exec("DROP TABLE statistic; PRAGMA user_version = 22");
}

/** Converts a database to format 21. */
function toTwentyFirstForm(database: DatabaseSync): void {
  toTwentySecondForm(database);
  database.exec("DROP TABLE schedule; PRAGMA user_version = 21");
}

/** Converts a database to format 20. */
function toTwentiethForm(database: DatabaseSync): void {
  toTwentyFirstForm(database);
  database.exec("DROP TABLE spent; PRAGMA user_version = 20");
}

/** Converts a database to format 19. */
function toNineteenthForm(database: DatabaseSync): void {
  toTwentiethForm(database);
  database.exec("DROP TABLE base; DROP INDEX outbox_dead; PRAGMA user_version = 19");
}

/** Converts a database to format 17. */
function toSeventeenthForm(database: DatabaseSync): void {
  toNineteenthForm(database);
  database.exec("DROP TABLE audit");
  for (const column of ["checksum", "parts", "body"])
    database.exec(`ALTER TABLE batch DROP COLUMN ${column}`);
  database.exec(`
    CREATE TABLE recent (seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, parts TEXT NOT NULL, body TEXT NOT NULL);
    PRAGMA user_version = 17`);
}

/** Converts a database to format 16. */
function toSixteenthForm(database: DatabaseSync): void {
  toSeventeenthForm(database);
  database.exec(`
    DROP INDEX run_owner; DROP INDEX run_owner_agent; DROP INDEX wait_owner;
    ALTER TABLE run DROP COLUMN owner;
    PRAGMA user_version = 16`);
}

/** Converts a database to format 15. */
function toFifteenthForm(database: DatabaseSync): void {
  toSixteenthForm(database);
  database.exec("DROP INDEX request_queued; PRAGMA user_version = 15");
}

/** Converts a database to format 14. */
function toFourteenthForm(database: DatabaseSync): void {
  toFifteenthForm(database);
  database.exec(`
    DROP INDEX run_updated;
    DROP INDEX run_agent;
    DROP INDEX run_busy;
    CREATE INDEX run_updated ON run (updated DESC, run_id) WHERE removed = 0;
    CREATE INDEX run_agent ON run (agent, updated DESC, run_id) WHERE removed = 0;
    CREATE INDEX run_busy ON run (status, updated DESC, run_id) WHERE removed = 0 AND status > 0;
    PRAGMA user_version = 14;
  `);
}

/** Converts a database to format 13. */
function toThirteenthForm(database: DatabaseSync): void {
  toFourteenthForm(database);
  database.exec(
    `DROP INDEX request_run; CREATE INDEX request_run ON request (rid); PRAGMA user_version = 13`,
  );
}

/** Converts a database to format 12. */
function toTwelfthForm(database: DatabaseSync): void {
  toThirteenthForm(database);
  database.exec("DROP TABLE wait; PRAGMA user_version = 12");
}

/** Converts a database to format 11. */
function toEleventhForm(database: DatabaseSync): void {
  toTwelfthForm(database);
  database.exec(`ALTER TABLE run DROP COLUMN last_turn; ALTER TABLE run DROP COLUMN usage;
    PRAGMA user_version = 11`);
}

/** Converts a database to format 9. */
function toNinthForm(database: DatabaseSync): void {
  toEleventhForm(database);
  database.exec(`DROP INDEX request_open; ALTER TABLE request DROP COLUMN waiting_for;
    CREATE INDEX request_open ON request (created) WHERE phase < 2 AND wake IS NULL; PRAGMA user_version = 9`);
}

/** Converts a database to format 8. */
function toEighthForm(database: DatabaseSync): void {
  toNinthForm(database);
  database.exec(`DROP TABLE outbox; DROP INDEX request_resting; ALTER TABLE request DROP COLUMN rests;
    ALTER TABLE run DROP COLUMN started; PRAGMA user_version = 8`);
}

/** Converts a database to format 7. */
function toSeventhForm(database: DatabaseSync): void {
  toEighthForm(database);
  database.exec("DROP TABLE recent; ALTER TABLE batch DROP COLUMN recent; PRAGMA user_version = 7");
}

/** Converts a database to format 6. */
function toSixthForm(database: DatabaseSync): void {
  toSeventhForm(database);
  database.exec("DROP INDEX run_created; PRAGMA user_version = 6");
}

/** Converts a database to format 4. */
function toFourthForm(database: DatabaseSync): void {
  toSixthForm(database);
  database.exec(`
    ALTER TABLE alias RENAME TO of_agents;
    DROP INDEX alias_run;
    CREATE TABLE alias (alias TEXT PRIMARY KEY, rid INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX alias_run ON alias (rid);
    INSERT INTO alias SELECT alias, rid FROM of_agents;
    DROP TABLE of_agents;
    PRAGMA user_version = 4;
  `);
}

/** Converts a database to format 3. */
function toThirdForm(database: DatabaseSync): void {
  toFourthForm(database);
  database.exec("DROP TABLE reference; PRAGMA user_version = 3");
}

/** Converts a database to format 2. */
function toSecondForm(database: DatabaseSync): void {
  toThirdForm(database);
  database.exec("ALTER TABLE run DROP COLUMN head; PRAGMA user_version = 2");
}

/** Converts a database to format 1. */
function toFirstForm(path: string): void {
  const database = new DatabaseSync(path);
  toSecondForm(database);
  database.exec(`
    DROP INDEX request_asleep;
    DROP INDEX request_open;
    ALTER TABLE request DROP COLUMN wake;
    CREATE INDEX request_open ON request (created) WHERE phase < 3;
    PRAGMA user_version = 1;
  `);
  database.close();
}
