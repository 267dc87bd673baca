/** @module-tag long */
import { setImmediate } from "node:timers/promises";
import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { copyLog } from "../../../src/node/copy/copy-log.ts";
import type { Store } from "../../../src/node/copy/copy-log.ts";
import { theOne } from "../../agents/events.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { list } from "../../runtime/actors/agents.ts";
import { asker, keeper, readText } from "../../runtime/agents.ts";
import { scheduled } from "../../runtime/schedules/agents.ts";
import { KINDS } from "./stores.ts";

needsPostgres();

const HOUR_MS = 3_600_000;

/** Whether turns of `worker` may end. */
const gate = Promise.withResolvers<void>();

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for more than two hours.",
  async chat(_, turn) {
    // The test passes an hour at once; what is left of it when this ends must not be longer than a turn may run.
    await turn.sleep(2.25 * HOUR_MS);
    return "awake";
  },
});

const worker = defineAgent({
  name: "worker",
  purpose: "Works until the gate is open.",
  async chat(_, turn) {
    await turn.text("begun");
    await gate.promise;
    return "worked";
  },
});

const agents = [asker, sleeper, worker, keeper, list, scheduled()];

const chat = (request_id: string) => ({ type: "ChatRequest", input: "?", request_id }) as const;

test("a runtime on a copy continues what the original had begun, from files to a database and back", async () => {
  const environment = runningEnvironment();
  const [original, copy, back] = [await KINDS.SQLite(), await KINDS.PostgreSQL(), await KINDS.SQLite()];

  const before = await start(original, environment);
  await before.process("keeper", { type: "ConfigureRequest", args: { api_key: "hidden" } });
  const file = theOne(await collect(before, "keeper", chat("kept")), "ArtifactGenerated");
  for (const [agent, id] of [
    ["asker", "asked"],
    ["sleeper", "slept"],
    ["worker", "worked"],
    ["asker", "asked-too"],
  ] as const) {
    await before.process(agent, chat(id));
  }
  await before.ask(list, "add", { item: "first" }, { key: "shop" });
  const removed = await collect(before, "keeper", chat("removed"));
  await before.removeRun(removed[0]?.run_id ?? "");
  await waitOf(before, "asked");
  await waitOf(before, "asked-too");
  await before.close();

  await copyAll(original, copy);
  const after = await start(copy, environment);
  gate.resolve();
  expect(await endOf(after, "worked")).toMatchObject({ result: "worked" });
  await answer(after, "asked");
  expect(await endOf(after, "asked")).toMatchObject({ result: "Hello, Ada!" });
  expect(await readText(after, file.artifact_id)).toBe("hidden");
  expect(theOne(await collect(after, "keeper", chat("kept-2")), "RequestCompleted")).toMatchObject({
    result: "hidden",
  });
  expect(await after.process("keeper", chat("kept"))).toMatchObject({ replayed: true, runId: file.run_id });
  await expect(after.process("keeper", chat("removed"))).rejects.toMatchObject({ code: "gone" });
  await expect(after.resolve(removed[0]?.run_id ?? "")).rejects.toMatchObject({ code: "gone" });
  expect(await after.ask(list, "add", { item: "second" }, { key: "shop" })).toBe(2);
  await environment.advance(HOUR_MS / 2);
  await after.close();

  await copyAll(copy, back);
  const last = await start(back, environment);
  const reports = (await last.find("reporter", "schedule-report")) ?? "";
  const times = [11, 12, 13].map((hour) => `news 2026-03-02T${hour}:00:00.000Z`);
  expect(await outputsOf(last, reports, 1)).toEqual(times.slice(0, 1));
  await environment.advance(HOUR_MS);
  expect(await outputsOf(last, reports, 2)).toEqual(times.slice(0, 2));
  await environment.advance(HOUR_MS);
  expect(await outputsOf(last, reports, 3)).toEqual(times);
  expect(await endOf(last, "slept")).toMatchObject({ result: "awake" });
  await answer(last, "asked-too");
  expect(await endOf(last, "asked-too")).toMatchObject({ result: "Hello, Ada!" });
  expect(await last.ask(list, "all", {}, { key: "shop" })).toEqual({ items: ["first", "second"] });
  await expect(last.process("keeper", chat("removed"))).rejects.toMatchObject({ code: "gone" });
});

async function start({ log, artifacts, secrets }: Store, environment: ManualEnvironment): Promise<Runtime> {
  // The store stays open, to be copied.
  const runtime = createRuntime({
    agents,
    log: { ...log, close: async () => {} },
    artifacts: { ...artifacts, close: async () => {} },
    secrets,
    environment,
  });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/**
 * An environment whose clock runs with the real one until the end of the test, because files and a database take real time.
 */
function runningEnvironment(): ManualEnvironment {
  const environment = manualEnvironment({ startMs: Date.UTC(2026, 2, 2, 10, 30) });
  let skip = { ms: 0, done: (): void => {} };
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const run = async (): Promise<void> => {
    for (let beforeMs = Date.now(); !isOver;) {
      const { ms, done } = skip;
      skip = { ms: 0, done: () => {} };
      const nowMs = Date.now();
      await environment.advance(Math.max(0, nowMs - beforeMs) + ms);
      beforeMs = nowMs;
      done();
      await setImmediate();
    }
  };
  void run();
  return {
    ...environment,
    advance: (ms) =>
      new Promise((done) => {
        skip = { ms, done };
      }),
  };
}

async function copyAll(from: Store, to: Store): Promise<void> {
  for await (const { isNew } of copyLog(from, to)) expect(isNew).toBe(true);
}

/** The event that ends a request, when it is there. */
async function endOf(runtime: Runtime, requestId: string): Promise<object> {
  const address = await runtime.resolve(requestId);
  const { pages } = await runtime.follow(address, {});
  for await (const { events } of pages) {
    for (const text of events) {
      const event = JSON.parse(text) as { readonly type: string; readonly depth: number };
      if (event.type === "RequestCompleted" && event.depth === 0) return event;
    }
  }
  throw new Error(`the stream of ${requestId} has ended without its end`);
}

/** Resolves when a request waits for an answer. */
async function waitOf(runtime: Runtime, requestId: string): Promise<void> {
  const { pages } = await runtime.follow(await runtime.resolve(requestId), {});
  for await (const { events } of pages) if (events.some((text) => text.includes('"WaitForInput"'))) return;
}

async function answer(runtime: Runtime, requestId: string): Promise<void> {
  await runtime.process("asker", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { name: "Ada" },
  });
}

/** The outputs of the first turns of a run. */
async function outputsOf(runtime: Runtime, runId: string, count: number): Promise<readonly unknown[]> {
  const { pages } = await runtime.follow(await runtime.resolve(runId), { after: 0, forever: true });
  const outputs: unknown[] = [];
  for await (const { events } of pages) {
    for (const text of events) {
      const event = JSON.parse(text) as { readonly type: string; readonly output?: unknown };
      if (event.type === "RequestCompleted") outputs.push(event.output);
      if (outputs.length === count) return outputs;
    }
  }
  return outputs;
}
