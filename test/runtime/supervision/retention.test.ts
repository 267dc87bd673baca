import { createRuntime, defineAgent, memoryLog } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { message, reader } from "../messages/agents.ts";
import { scheduled } from "../schedules/agents.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

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
  await runtime.process("reader", message("note", "unread"));
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  await runtime.process("reader", { type: "ChatRequest", input: "", key: "room" });
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
  expect(await second.find("reporter", "schedule-report")).toBe(runId);
  await second.close();
});

test("the run of a schedule that its agent no longer has is removed", async () => {
  const environment = manualEnvironment();
  const log = memoryLog();
  const first = createRuntime({ agents: [scheduled(MONDAYS)], environment, log });
  await environment.idle();
  await first.close();
  const agents = [defineAgent({ name: "reporter", purpose: "Reports.", chat: () => "" })];
  const second = createRuntime({ agents, environment, log: log.reopen(), retainMs: HOUR_MS });
  await environment.advance(2 * HOUR_MS);
  expect(await second.find("reporter", "schedule-report")).toBeUndefined();
  await second.close();
});

test("above the size limit the run of a schedule is passed over, once for each check", async () => {
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
  expect(claims).toEqual(Array.from({ length: 10 }, () => runId));
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
