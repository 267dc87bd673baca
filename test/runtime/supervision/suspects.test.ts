import { defineAgent } from "troupe";
import type { Limits } from "troupe";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

const WORK_MS = 10_000;

/** A simulated process that is restarted until all requests have ended. */
function deadlyHost(limits: Partial<Limits> = {}): TestHost {
  const innocent = defineAgent({
    name: "innocent",
    purpose: "Works for ten seconds, in one call that may be repeated.",
    async chat(_input, turn) {
      await turn.effect("work", () => host.pause(WORK_MS), { effect: "idempotent" });
      return "done";
    },
  });
  const deadly = defineAgent({
    name: "deadly",
    purpose: "Ends the process after so many milliseconds.",
    async chat(input) {
      await host.pause(Number(input));
      host.crash();
    },
  });
  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps for a minute.",
    async chat(_input, turn) {
      await turn.sleep(60_000);
      return "done";
    },
  });
  const host: TestHost = new TestHost({ agents: [innocent, deadly, sleeper], limits });
  return host;
}

/** Restarts the process each time it dies, until all requests have ended. Returns the number of deaths. */
async function live(host: TestHost, requests: readonly RequestId[]): Promise<number> {
  for (let deaths = 0; deaths < 100; deaths += 1) {
    while (!host.crashed) {
      const phases = await Promise.all(requests.map(async (id) => (await host.log.lookup(id))?.phase));
      if (phases.every((phase) => phase === "completed")) return deaths;
      await host.environment.advance(100);
    }
    await host.restart();
  }
  throw new Error("the process has died a hundred times");
}

async function askAll(
  host: TestHost,
  agent: string,
  inputs: readonly string[],
): Promise<readonly RequestId[]> {
  const ids = inputs.map((_, at) => `${agent}-${at}` as RequestId);
  for (const [at, input] of inputs.entries())
    await host.ask(agent, { type: "ChatRequest", input, request_id: ids[at] as RequestId });
  return ids;
}

async function endsOf(host: TestHost, requests: readonly RequestId[]): Promise<readonly string[]> {
  return Promise.all(
    requests.map(async (id) => {
      const [end] = ofType(await host.events(id), "RequestCompleted");
      return end?.error?.code ?? String(end?.finish_reason);
    }),
  );
}

test.each([
  { about: "one ends the process at once", innocents: 8, guilty: ["20"], most: 5 },
  { about: "two end the process at once", innocents: 8, guilty: ["20", "40"], most: 9 },
  { about: "one ends the process late", innocents: 8, guilty: ["5000"], most: 10 },
  { about: "one of a hundred ends the process", innocents: 99, guilty: ["20"], most: 8 },
])("only the turns that end the process are poisoned: $about", async ({ innocents, guilty, most }) => {
  const host = deadlyHost();
  const others = await askAll(
    host,
    "innocent",
    Array.from({ length: innocents }, () => ""),
  );
  const culprits = await askAll(host, "deadly", guilty);
  const deaths = await live(host, [...others, ...culprits]);
  expect(await endsOf(host, culprits)).toEqual(culprits.map(() => "poisoned"));
  expect(await endsOf(host, others)).toEqual(others.map(() => "success"));
  expect(deaths).toBeLessThanOrEqual(most);
});

test("an attempt of a call does not count if another turn may have ended the process", async () => {
  const host = deadlyHost();
  const requests = await askAll(host, "innocent", ["", ""]);
  // Each step waits until the turns that are tried alone have had their time.
  for (const aliveMs of [500, 500, 2_500, 4_500]) {
    await host.environment.advance(aliveMs);
    host.crash();
    await host.restart();
  }
  expect(await live(host, requests)).toBe(0);
  expect(await endsOf(host, requests)).toEqual(["success", "success"]);
  const tries = ofType(await host.events("innocent-0"), "ToolCall").map(({ attempt = 1 }) => attempt);
  expect(tries).toEqual([1, 2, 3, 4, 5]);
});

test("while suspects are tried, new requests and those that a wake-up continues go on", async () => {
  const host = deadlyHost({ idleRuns: 0 });
  await askAll(host, "sleeper", [""]);
  await askAll(host, "innocent", ["", ""]);
  host.crash();
  await host.restart();
  host.crash();
  // The sleep is over when the next process starts.
  host.clockMs = 120_000;
  await host.restart();
  await host.environment.advance(0);
  const quick = "quick" as RequestId;
  await host.ask("innocent", { type: "ChatRequest", input: "", request_id: quick });
  expect(ofType(await host.events(quick), "ToolCall")).toHaveLength(1);
  expect(await endsOf(host, ["sleeper-0"])).toEqual(["success"]);
  // The suspects are still held back.
  expect(ofType(await host.events("innocent-0"), "ToolCall")).toHaveLength(2);
  await host.environment.advance(12_000);
  expect(await endsOf(host, ["innocent-0", "innocent-1", quick])).toEqual(["success", "success", "success"]);
});

test("a turn that ran at the last death only continues after the trials", async () => {
  const host = deadlyHost();
  await askAll(host, "innocent", [""]);
  host.crash();
  await host.restart();
  const second = "second" as RequestId;
  await host.ask("innocent", { type: "ChatRequest", input: "", request_id: second });
  host.crash();
  await host.restart();
  await host.environment.advance(1_000);
  expect(ofType(await host.events("innocent-0"), "ToolCall")).toHaveLength(3);
  expect(ofType(await host.events(second), "ToolCall")).toHaveLength(1);
  await host.environment.advance(300);
  expect(ofType(await host.events(second), "ToolCall")).toHaveLength(2);
});

test("a process that closes while a turn is held back proves nothing about the turn", async () => {
  const host = deadlyHost();
  await askAll(host, "innocent", [""]);
  for (let death = 0; death < 2; death += 1) {
    host.crash();
    await host.restart();
  }
  for (let close = 0; close < 2; close += 1) {
    const closing = host.runtime.close();
    await host.environment.advance(0);
    await closing;
    await host.restart();
    // It is held back again.
    expect(ofType(await host.events("innocent-0"), "ToolCall")).toHaveLength(2);
  }
});

test.for<readonly [string, (host: TestHost, runId: RunId) => Promise<unknown>]>([
  ["a message", (host, run_id) => host.ask("stuck", { type: "Message", name: "note", body: "hi", run_id })],
  [
    "a request",
    (host, run_id) => host.ask("stuck", { type: "ChatRequest", input: "", run_id, on_busy: "enqueue" }),
  ],
  ["the cancel of a queued request", cancelNext],
  [
    "a file",
    (host, runId) =>
      host.runtime.upload({
        runId,
        name: "note.txt",
        mimeType: "text/plain",
        limitBytes: 10,
        body: bytesOf("hi"),
      }),
  ],
])(
  "%s that comes for a turn on trial is no progress: the next suspect waits until the trial is over",
  async ([, come]) => {
    const stuck = defineAgent({
      name: "stuck",
      purpose: "Never reads.",
      messages: { note: z.string() },
      chat: () => new Promise<never>(() => {}),
    });
    const host = new TestHost({ agents: [stuck] });
    const ids = await askAll(host, "stuck", ["", ""]);
    const runIds = await Promise.all(ids.map(async (id) => (await host.log.lookup(id))?.runId as RunId));
    const starts = async (): Promise<number> => {
      let count = 0;
      for (const runId of runIds) {
        const { records } = await host.log.read(runId, { after: 0, records: true });
        count += records.filter(({ type }) => type === "RecoveryStarted").length;
      }
      return count;
    };
    for (const run_id of runIds)
      await host.ask("stuck", {
        type: "ChatRequest",
        input: "",
        run_id,
        on_busy: "enqueue",
        request_id: nextOf(run_id),
      });
    for (let death = 0; death < 2; death += 1) {
      host.crash();
      await host.restart();
    }
    expect(await starts()).toBe(2);
    await host.environment.advance(1_000);
    expect(await starts()).toBe(3);
    for (const runId of runIds) await come(host, runId);
    await host.environment.advance(100);
    expect(await starts()).toBe(3);
    await host.environment.advance(200);
    expect(await starts()).toBe(4);
  },
);

test("a turn that other requests wait for is not ended because somebody kills its process again and again", async () => {
  const host = deadlyHost();
  const [id = ""] = await askAll(host, "innocent", [""]);
  const { runId = "" } = (await host.log.lookup(id)) ?? {};
  // Six times, because a later trial takes longer than the process lives here.
  for (let kill = 0; kill < 6; kill += 1) {
    host.crash();
    await host.restartUntilContinued(id);
    // It arrives during the trial.
    await host.ask("innocent", { type: "ChatRequest", input: "", run_id: runId, on_busy: "enqueue" });
    await host.environment.advance(5_000);
    expect(await endsOf(host, [id])).toEqual(["undefined"]);
  }
});

function nextOf(runId: RunId): RequestId {
  return `next-${runId}` as RequestId;
}

function cancelNext(host: TestHost, runId: RunId): Promise<unknown> {
  return host.ask("stuck", { type: "CancelRequest", request_id: nextOf(runId) });
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
