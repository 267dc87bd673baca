import { defineAgent } from "troupe";
import type { Feed, Receipt, Runtime } from "troupe";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";

/** Asks two things at once, and says each answer. */
const asker = defineAgent({
  name: "asker",
  purpose: "Asks two things at once.",
  async chat(_input, turn) {
    const name = turn.waitForInput({ name: "Your name?" });
    const town = turn.waitForInput({ town: "Your town?" });
    const [a, b] = await Promise.all([name, town]);
    await turn.text(JSON.stringify([a, b]));
  },
});

const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });

/** The types of the events that answer a receipt, with their ids. */
async function typesOf(feed: Promise<Feed>): Promise<string[]> {
  const types: string[] = [];
  for await (const { events } of (await feed).pages) {
    for (const text of events) {
      const { id, type } = JSON.parse(text) as { readonly id: number; readonly type: string };
      types.push(`${id} ${type}`);
    }
  }
  return types;
}

function answer(runtime: Runtime, requestId: string, waitId: number, values: object): Promise<Receipt> {
  return runtime.process("asker", {
    type: "ResumeWithInput",
    request_id: requestId,
    wait_id: waitId,
    request_keys: { ...values },
  });
}

test.each([
  ["the newer one first", 3, 2],
  ["the older one first", 2, 3],
])("the answers to two waits end, %s, although one of them leaves the other open", async (_, one, two) => {
  const { runtime } = new TestHost({ agents: [asker] });
  const asked = await runtime.process("asker", { type: "ChatRequest", input: "" });
  expect(await typesOf(runtime.answers(asked))).toEqual([
    "1 RequestStarted",
    "2 WaitForInput",
    "3 WaitForInput",
  ]);
  const values = [{}, {}, { name: "Ada" }, { town: "Rome" }];
  const first = await answer(runtime, asked.requestId, one, values[one] ?? {});
  expect(await typesOf(runtime.answers(first))).toEqual(["4 ResumeWithInput"]);
  const second = await answer(runtime, asked.requestId, two, values[two] ?? {});
  const last = ["5 ResumeWithInput", "6 TextOutput", "7 RequestCompleted"];
  expect(await typesOf(runtime.answers(second))).toEqual(last);
  // The same again later.
  expect(await typesOf(runtime.answers(second))).toEqual(last);
  const repeated = await answer(runtime, asked.requestId, two, values[two] ?? {});
  expect(repeated.replayed).toBe(true);
  expect(await typesOf(runtime.answers(repeated))).toEqual(last);
});

test("the answers to a wait end also after a restart", async () => {
  const host = new TestHost({ agents: [asker] });
  const asked = await host.runtime.process("asker", { type: "ChatRequest", input: "" });
  await typesOf(host.runtime.answers(asked));
  await host.restart();
  const first = await answer(host.runtime, asked.requestId, 3, { town: "Rome" });
  expect(await typesOf(host.runtime.answers(first))).toEqual(["4 ResumeWithInput"]);
});

test("the answers to a queued request are its own, without those of the turn before", async () => {
  const { runtime } = new TestHost({ agents: [asker] });
  const first = await runtime.process("asker", { type: "ChatRequest", input: "" });
  const run_id = first.runId ?? "";
  const queued = await runtime.process("asker", {
    type: "ChatRequest",
    input: "",
    run_id,
    on_busy: "enqueue",
  });
  const types = typesOf(runtime.answers(queued));
  await runtime.process("asker", { type: "CancelRequest", request_id: first.requestId });
  expect(await types).toEqual(["6 RequestStarted", "7 WaitForInput", "8 WaitForInput"]);
});

test("the answers to a cancel are the end of its request", async () => {
  const { runtime } = new TestHost({ agents: [asker] });
  const asked = await runtime.process("asker", { type: "ChatRequest", input: "" });
  await typesOf(runtime.answers(asked));
  const cancel = { type: "CancelRequest", request_id: asked.requestId } as const;
  const canceled = await runtime.process("asker", cancel);
  expect(await typesOf(runtime.answers(canceled))).toEqual(["4 CancelRequest", "5 RequestCompleted"]);
  expect(await typesOf(runtime.answers(await runtime.process("asker", cancel)))).toEqual([
    "5 RequestCompleted",
  ]);
});

test("a signal ends the answers, and a configuration has none", async () => {
  const { runtime } = new TestHost({ agents: [asker, echo] });
  const stop = new AbortController();
  const asked = await runtime.process("asker", { type: "ChatRequest", input: "" });
  const queued = await runtime.process("asker", {
    type: "ChatRequest",
    input: "",
    run_id: asked.runId ?? "",
    on_busy: "enqueue",
  });
  const types = typesOf(runtime.answers(queued, { signal: stop.signal }));
  stop.abort();
  expect(await types).toEqual([]);
  const configured = await runtime.process("echo", { type: "ConfigureRequest", args: {} });
  await expect(runtime.answers(configured)).rejects.toMatchObject({ code: "invalid_request" });
});

test("a run is found by its key, and asking creates nothing", async () => {
  const { runtime } = new TestHost({ agents: [echo, asker] });
  expect(await runtime.find("echo", "thread-1")).toBeUndefined();
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  const runId = await runtime.createRun("echo", {
    key: "thread-1",
    input: "hi",
    metadata: { user: "ada" },
  });
  expect(await runtime.find("echo", "thread-1")).toBe(runId);
  expect(await runtime.find("asker", "thread-1")).toBeUndefined();
  await expect(runtime.find("nobody", "thread-1")).rejects.toMatchObject({
    code: "not_found",
    details: { hint: expect.stringContaining("echo") as string },
  });
  expect(await runtime.run(runId)).toMatchObject({
    run_id: runId,
    agent: "echo",
    status: "idle",
    initial_input: "hi",
    metadata: { user: "ada" },
    turns: 0,
  });
  await expect(runtime.run("run_none")).rejects.toMatchObject({ code: "not_found" });
  await runtime.removeRun(runId);
  expect(await runtime.find("echo", "thread-1")).toBeUndefined();
  await expect(runtime.run(runId)).rejects.toMatchObject({ code: "gone" });
});

test("runs are listed in the order of their creation, with metadata, an offset and a total", async () => {
  const { runtime } = new TestHost({ agents: [echo, asker] });
  const ids: string[] = [];
  for (const input of ["a", "b", "c"])
    ids.push(await runtime.createRun("echo", { input, metadata: { input } }));
  await runtime.process("asker", { type: "ChatRequest", input: "" });
  await runtime.process("echo", { type: "ConfigureRequest", args: { tone: "loud" } });
  const turn = await runtime.process("echo", { type: "ChatRequest", input: "", run_id: ids[0] ?? "" });
  await runtime.acknowledgement(turn, { until: "completed", timeoutMs: 1_000 });
  const fork = await runtime.fork(ids[0] ?? "", { after: 0 });

  const query = { order: "created", agent: "echo", total: true } as const;
  const { runs, total } = await runtime.runs({ ...query, limit: 2, offset: 1 });
  expect(runs.map(({ run_id: id, metadata }) => [id, metadata])).toEqual([
    [ids[1], { input: "b" }],
    [ids[2], { input: "c" }],
  ]);
  expect(total).toBe(4);
  const all = await runtime.runs({ ...query, limit: 10 });
  expect(all.runs.map(({ run_id: id }) => id)).toEqual([...ids, fork]);
  expect(all.runs.at(-1)).toMatchObject({ forked_from: { run_id: ids[0], id: 0 }, metadata: { input: "a" } });
});
