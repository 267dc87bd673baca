import { createRuntime, defineAgent, memoryLog, operation } from "troupe";
import type { Runtime } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { payments } from "../../../agents/payments.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { noTelemetry } from "../../../src/runtime/options.ts";
import { reader } from "../messages/agents.ts";
import { runsLong } from "../../machine/long.ts";
import { scheduled } from "../schedules/agents.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const emptyFile = defineAgent({
  name: "empty-file",
  purpose: "Publishes a file without bytes.",
  async chat(_input, turn) {
    await turn.artifact({ name: "empty.txt", mimeType: "text/plain", data: "" });
  },
});

test("an idle run is removed after its time, with its files; a waiting one is kept", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [payments, pdfWriter], environment, retainMs: 10 * HOUR_MS });
  const written = await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  const asked = await collect(runtime, "payments", { type: "ChatRequest", input: "pay 1 to bob" });
  const file = written.find((event) => event.type === "ArtifactGenerated");
  const runId = written[0]?.run_id;
  const waiting = asked[0]?.run_id;
  if (file === undefined || runId === undefined || waiting === undefined) throw new Error("both turns began");

  await environment.advance(9 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(2);
  await environment.advance(3 * HOUR_MS);

  expect((await runtime.runs({ limit: 10 })).runs.map(({ run_id }) => run_id)).toEqual([waiting]);
  await expect(runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
  await expect(runtime.artifact(file.artifact_id)).rejects.toMatchObject({ code: "not_found" });
  await runtime.close();
});

test("above the size limit the longest idle runs are removed until the rest fits", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [payments, pdfWriter], environment, retainBytes: 100_000 });
  const asked = await collect(runtime, "payments", { type: "ChatRequest", input: "pay 1 to bob" });
  const input = `Title: ${"text ".repeat(6_000)}`;
  const runs: (string | null | undefined)[] = [];
  for (let run = 0; run < 4; run += 1) {
    await environment.advance(1_000);
    const [started] = await collect(runtime, "pdf-writer", { type: "ChatRequest", input });
    runs.push(started?.run_id);
  }
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(5);
  await environment.advance(HOUR_MS);

  const left = (await runtime.runs({ limit: 10 })).runs.map(({ run_id }) => run_id);
  expect(left).toContain(asked[0]?.run_id);
  expect(left.length).toBeGreaterThan(1);
  expect(left.slice(0, -1)).toEqual(runs.slice(1 - left.length).toReversed());
  await environment.advance(HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(left.length);
  await runtime.close();
});

test("a run without files is removed in one commit, and one with files is hidden before", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const changes: string[] = [];
  const watched: EventLog = {
    ...log,
    append(cursor, batch) {
      changes.push(`append ${cursor.runId}`);
      return log.append(cursor, batch);
    },
    remove(cursor, options) {
      changes.push(`remove ${cursor.runId}`);
      return log.remove(cursor, options);
    },
  };
  const runtime = createRuntime({
    agents: [pdfWriter, emptyFile],
    environment,
    log: watched,
    retainMs: HOUR_MS,
  });
  const empty = await runtime.createRun("pdf-writer", {});
  const written = await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  const full = written[0]?.run_id ?? "";
  const published = await collect(runtime, "empty-file", { type: "ChatRequest", input: "now" });
  const withEmptyFile = published[0]?.run_id ?? "";
  await environment.advance(10_000);
  changes.length = 0;
  await environment.advance(10 * HOUR_MS);
  expect(changes.toSorted()).toEqual(
    [
      `append ${full}`,
      `append ${withEmptyFile}`,
      ...[empty, full, withEmptyFile].map((runId) => `remove ${runId}`),
    ].toSorted(),
  );
  await runtime.close();
});

test("more runs are removed at a time while their removals are quick, and no more while they are slow", async () => {
  const mostAtOnce = async (removalMs: number): Promise<number> => {
    const environment = manualEnvironment();
    const log = memoryLog();
    let running = 0;
    let highest = 0;
    const counted: EventLog = {
      ...log,
      async remove(cursor) {
        running += 1;
        highest = Math.max(highest, running);
        const { promise, resolve } = Promise.withResolvers<void>();
        environment.timer(removalMs, resolve);
        await promise;
        running -= 1;
        return log.remove(cursor);
      },
    };
    const runtime = createRuntime({ agents: [payments], environment, log: counted, retainMs: HOUR_MS });
    for (let run = 0; run < 100; run += 1) await runtime.createRun("payments", {});
    await environment.advance(10 * HOUR_MS);
    expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
    await runtime.close();
    return highest;
  };
  expect(await mostAtOnce(10)).toBeGreaterThan(20);
  expect(await mostAtOnce(100)).toBe(8);
});

test.each([
  { what: "too old", limit: { retainMs: HOUR_MS } },
  { what: "above the size limit", limit: { retainBytes: 1 } },
])(
  "idle runs $what are removed together, without being loaded, and those that are needed stay",
  async ({ limit }) => {
    const environment = manualEnvironment();
    const log = memoryLog();
    const claims: string[] = [];
    const sets: number[] = [];
    const watched: EventLog = {
      ...log,
      claim(runId, options) {
        claims.push(runId);
        return log.claim(runId, options);
      },
      async removeIdle(seen) {
        const removed = await log.removeIdle(seen);
        sets.push(removed.length);
        return removed;
      },
    };
    const limits = { idleRuns: 0 };
    const agents = [reader, pdfWriter, account];
    const runtime = createRuntime({ agents, environment, log: watched, ...limit, limits });
    const runs: string[] = [];
    for (let run = 0; run < 30; run += 1) {
      const [started] = await collect(runtime, "reader", { type: "ChatRequest", input: "none" });
      runs.push(started?.run_id ?? "");
    }
    const written = await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
    const runId = await runtime.createRun("reader", {});
    await runtime.process("reader", { type: "Message", name: "note", body: "unread", run_id: runId });
    const monthly = { operation: "add", input: { amount: 1 }, every_ms: 30 * DAY_MS, id: "monthly" };
    const planned = await runtime.createRun("account", {});
    await runtime.schedules.make("account", { run_id: planned, ...monthly });
    await environment.advance(10_000);
    const feed: string[] = [];
    const stop = log.watch((removed) => feed.push(removed));
    claims.length = 0;
    await environment.advance(10 * HOUR_MS);
    stop();

    expect((await runtime.runs({ limit: 50 })).runs.map(({ run_id }) => run_id).toSorted()).toEqual(
      [runId, planned].toSorted(),
    );
    expect(sets.reduce((sum, count) => sum + count)).toBe(30);
    expect(Math.max(...sets)).toBeGreaterThanOrEqual(8);
    expect(runs.filter((id) => claims.includes(id))).toEqual([]);
    expect(runs.filter((id) => !feed.includes(id))).toEqual([]);
    for (const id of [...runs, written[0]?.run_id ?? ""]) {
      await expect(runtime.resolve(id)).rejects.toMatchObject({ code: "gone" });
      const late = runtime.process("reader", { type: "ChatRequest", input: "none", run_id: id });
      await expect(late).rejects.toMatchObject({ code: "gone" });
    }
    await runtime.close();
  },
);

test("one set of idle runs is larger while removals are quick, and small while they are slow", async () => {
  const sizesFor = async (removalMs: number): Promise<readonly number[]> => {
    const environment = manualEnvironment();
    const log = memoryLog();
    const sizes: number[] = [];
    const slow: EventLog = {
      ...log,
      async removeIdle(seen) {
        if (seen.length > 0) sizes.push(seen.length);
        const { promise, resolve } = Promise.withResolvers<void>();
        environment.timer(removalMs, resolve);
        await promise;
        return log.removeIdle(seen);
      },
    };
    const limits = { idleRuns: 0 };
    const runtime = createRuntime({ agents: [payments], environment, log: slow, retainMs: HOUR_MS, limits });
    for (let run = 0; run < 200; run += 1) await runtime.createRun("payments", {});
    await environment.advance(10 * HOUR_MS);
    expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
    await runtime.close();
    return sizes;
  };
  expect(Math.max(...(await sizesFor(10)))).toBeGreaterThan(50);
  expect(Math.max(...(await sizesFor(200)))).toBe(32);
});

test("a run that is removed by itself, however long that takes, does not hold up the sets of others", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const others = Promise.withResolvers<void>();
  let left = 300;
  const slow: EventLog = {
    ...log,
    async removeIdle(seen) {
      const removed = await log.removeIdle(seen);
      left -= removed.length;
      if (left === 0) others.resolve();
      return removed;
    },
    async remove(cursor) {
      await others.promise;
      return log.remove(cursor);
    },
  };
  const limits = { idleRuns: 0 };
  const runtime = createRuntime({
    agents: [payments, pdfWriter],
    environment,
    log: slow,
    retainMs: HOUR_MS,
    limits,
  });
  // It has a file.
  await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  for (let run = 0; run < 300; run += 1) await runtime.createRun("payments", {});
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test("a set that could not be removed is removed at the next check", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const faults: string[] = [];
  let isAway = true;
  const shaky: EventLog = {
    ...log,
    async removeIdle(seen) {
      if (isAway) throw new Error("the log is away");
      return log.removeIdle(seen);
    },
  };
  const limits = { idleRuns: 0 };
  const telemetry = { ...noTelemetry, fault: (message: string) => void faults.push(message) };
  const options = { agents: [payments], environment, log: shaky, retainMs: HOUR_MS, limits, telemetry };
  const runtime = createRuntime(options);
  await runtime.createRun("payments", {});
  await environment.advance(10 * HOUR_MS);
  expect(faults).toContain("old runs could not be removed");
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  isAway = false;
  await environment.advance(HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test("runs that are too old are removed several at a time", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const all = Promise.withResolvers<void>();
  const removals = new Set<string>();
  // Each removal waits for the others.
  const together: EventLog = {
    ...log,
    async remove(cursor) {
      removals.add(cursor.runId);
      if (removals.size === 8) all.resolve();
      await all.promise;
      return log.remove(cursor);
    },
  };
  const runtime = createRuntime({ agents: [payments], environment, log: together, retainMs: HOUR_MS });
  for (let run = 0; run < 8; run += 1) await runtime.createRun("payments", {});
  await environment.advance(10 * HOUR_MS);
  await all.promise;
  await environment.advance(MINUTE_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test("a run with unread messages is kept until a turn has read them", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [reader], environment, retainMs: HOUR_MS });
  const runId = await runtime.createRun("reader", {});
  const note = { type: "Message", name: "note", body: "unread", run_id: runId } as const;
  await runtime.process("reader", note);
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  await runtime.process("reader", { type: "ChatRequest", input: "", run_id: runId });
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

const MONDAYS = { cron: "0 8 * * 1" };
const DAY_MS = 24 * HOUR_MS;

test("the run of a schedule is kept, so that a time which passes while no server runs is made up", async () => {
  const environment = manualEnvironment({ startMs: Date.UTC(2026, 0, 1) });
  const log = memoryLog();
  const options = { agents: [scheduled(MONDAYS)], environment, retainMs: DAY_MS };
  const first = createRuntime({ ...options, log });
  await environment.advance(3 * DAY_MS);
  await first.close();
  await environment.advance(2 * DAY_MS);

  const second = createRuntime({ ...options, log: log.reopen() });
  await environment.idle();
  const runId = await second.find("reporter", "schedule-report");
  const requests = await second.requests(runId ?? "");
  expect(requests).toHaveLength(1);
  expect(await second.status(requests[0]?.request_id ?? "")).toMatchObject({
    output: "news 2026-01-05T08:00:00.000Z",
  });
  await environment.advance(6 * DAY_MS);
  // Its history is gone, and the start of the schedule is in its new run.
  const next = await second.find("reporter", "schedule-report");
  expect(next).not.toBe(runId);
  await environment.advance(12 * HOUR_MS);
  expect(await second.requests(next ?? "")).toHaveLength(1);
  await second.close();
});

test("the run of a schedule expires with its agent only when the agent no longer has the schedule", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const agent = { name: "reporter", purpose: "Reports.", expireMs: HOUR_MS };
  const report = operation({ input: z.object({}), run: () => "" });
  const schedules = { report: { ...MONDAYS, operation: "report" } } as const;
  const agents = [defineAgent({ ...agent, operations: { report }, schedules })];
  const first = createRuntime({ agents, environment, log });
  await environment.advance(2 * HOUR_MS);
  expect(await first.find("reporter", "schedule-report")).toBeDefined();
  await first.close();
  const later = [defineAgent({ ...agent, chat: () => "" })];
  const second = createRuntime({ agents: later, environment, log: log.reopen() });
  await environment.advance(2 * HOUR_MS);
  expect(await second.find("reporter", "schedule-report")).toBeUndefined();
  await second.close();
});

const account = defineAgent({
  name: "account",
  purpose: "Has a balance.",
  messages: { note: z.string() },
  operations: {
    add: operation({
      input: z.object({ amount: z.number() }),
      run({ amount }, turn) {
        const balance = Number(turn.memory.get() ?? 0) + amount;
        turn.memory.set(balance);
        return balance;
      },
    }),
    notes: operation({ input: z.object({}), run: (_input, turn) => turn.received("note") }),
  },
});

const ACCOUNTS = runsLong ? 1_000 : 200;

test(
  "retention removes the histories of many accounts, and none of their balances, keys, messages and schedules",
  { tags: "long" },
  async () => {
    const environment = manualEnvironment();
    const log = memoryLog();
    const options = { agents: [account, scheduled(MONDAYS)], environment, retainMs: DAY_MS };
    const runtime = createRuntime({ ...options, log });
    const keys = Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`);
    for (const [amount, key] of keys.entries()) {
      await runtime.ask(account, "add", { amount }, { key });
      await runtime.process("account", { type: "Message", name: "note", body: `hello ${amount}`, key });
      const interest = { operation: "add", input: { amount: 0 }, every_ms: 100 * DAY_MS, id: "interest" };
      await runtime.schedules.make("account", { key, ...interest });
    }
    const schedulesOf = async (of: Runtime): Promise<ReadonlySet<string>> => {
      const found = new Set<string>();
      for (let cursor: string | undefined; ;) {
        const page = await of.schedules.list({ limit: 100, agent: "account", ...(cursor && { cursor }) });
        for (const { key, id, next_at: at } of page.schedules) found.add(`${key ?? ""} ${id} ${at ?? ""}`);
        cursor = page.next;
        if (cursor === undefined) return found;
      }
    };
    const planned = await schedulesOf(runtime);
    expect(planned.size).toBe(ACCOUNTS);
    const before = await Promise.all(keys.map((key) => runtime.find("account", key)));
    const schedule = await runtime.find("reporter", "schedule-report");
    await environment.advance(2 * DAY_MS);

    for (const runId of before)
      await expect(runtime.run(runId ?? "")).rejects.toMatchObject({ code: "gone" });
    const after = await Promise.all(keys.map((key) => runtime.find("account", key)));
    expect(after.every((runId, index) => runId !== undefined && runId !== before[index])).toBe(true);
    expect(await runtime.find("reporter", "schedule-report")).toBe(schedule);
    // What is left is not history, so it stays.
    await environment.advance(10 * DAY_MS);
    expect(await Promise.all(keys.map((key) => runtime.find("account", key)))).toEqual(after);

    await runtime.close();
    const next = createRuntime({ ...options, log: log.reopen() });
    expect(await schedulesOf(next)).toEqual(planned);
    for (const [amount, key] of keys.entries()) {
      expect(await next.ask(account, "add", { amount: 0 }, { key })).toBe(amount);
      expect(await next.ask(account, "notes", {}, { key })).toEqual([`hello ${amount}`]);
    }
    await next.close();
  },
);

test("the histories that renewals have left are removed, and an actor above the size limit keeps its memory", async () => {
  const environment = manualEnvironment();
  const limits = { keyedRunEvents: 3 };
  const runtime = createRuntime({ agents: [account], environment, limits, retainBytes: 1 });
  for (let turn = 0; turn < 9; turn += 1) await runtime.ask(account, "add", { amount: 1 }, { key: "one" });
  expect((await runtime.runs({ limit: 10 })).runs.length).toBeGreaterThan(3);
  await environment.advance(HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toMatchObject([{ key: "one", turns: 0 }]);
  expect(await runtime.ask(account, "add", { amount: 1 }, { key: "one" })).toBe(10);
  await runtime.close();
});

test("an agent lets its idle actors expire, counted from what they did last", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const guest = defineAgent({
    name: "guest",
    purpose: "Is forgotten.",
    expireMs: 3 * DAY_MS,
    chat: (_input, turn) => turn.memory.set("was here"),
  });
  const runtime = createRuntime({ agents: [guest, account], environment, log, retainMs: DAY_MS });
  await runtime.ask(guest, "chat", { input: "" }, { key: "ada" });
  await runtime.ask(account, "add", { amount: 5 }, { key: "ada" });
  const first = await runtime.find("guest", "ada");
  await environment.advance(2 * DAY_MS);
  const second = await runtime.find("guest", "ada");
  expect(second).toBeDefined();
  expect(second).not.toBe(first);
  await environment.advance(DAY_MS + 3 * HOUR_MS);
  expect(await runtime.find("guest", "ada")).toBeUndefined();
  expect(await runtime.ask(account, "add", { amount: 0 }, { key: "ada" })).toBe(5);
  await runtime.close();
});

test("above the size limit the run of a schedule is passed over, without being loaded", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const agents = [scheduled(MONDAYS), pdfWriter];
  const claims: string[] = [];
  const claim: typeof log.claim = (runId, options) => {
    claims.push(runId);
    return log.claim(runId, options);
  };
  const runtime = createRuntime({
    agents,
    environment,
    log: { ...log, claim },
    retainBytes: 1,
    limits: { idleRuns: 0 },
  });
  await environment.advance(1_000);
  await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  await environment.advance(2 * MINUTE_MS);
  const runId = await runtime.find("reporter", "schedule-report");
  expect((await runtime.runs({ limit: 10 })).runs.map(({ run_id }) => run_id)).toEqual([runId]);
  claims.length = 0;
  await environment.advance(10 * MINUTE_MS);
  expect(claims).toEqual([]);
  await runtime.close();
});

test("without a limit nothing is removed", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [pdfWriter], environment });
  await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  await environment.advance(10_000 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  await runtime.close();
});
