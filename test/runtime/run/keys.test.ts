import { defineAgent } from "troupe";
import type { JsonObject, Receipt, Runtime } from "troupe";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts its turns.",
  chat(_input, turn) {
    const count = Number(turn.memory.get() ?? 0) + 1;
    turn.memory.set(count);
    return String(count);
  },
});

const asker = defineAgent({
  name: "asker",
  purpose: "Asks.",
  async chat(_input, turn) {
    return JSON.stringify(await turn.waitForInput({ name: "Your name?" }));
  },
});

const agents = [counter, asker];
const chat = (key: string) => ({ type: "ChatRequest", input: "", key }) as const;

async function resultOf(runtime: Runtime, receipt: Receipt): Promise<unknown> {
  const text = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  return (JSON.parse(text ?? "{}") as { readonly result?: unknown }).result;
}

test("the first request with a key creates its run, and later ones continue it", async () => {
  const host = new TestHost({ agents });
  const first = await host.runtime.process("counter", chat("user:ada@home"));
  expect(await resultOf(host.runtime, first)).toBe("1");
  expect(await host.runtime.find("counter", "user:ada@home")).toBe(first.runId);
  await host.restart();
  const second = await host.runtime.process("counter", chat("user:ada@home"));
  expect(second.runId).toBe(first.runId);
  expect(await resultOf(host.runtime, second)).toBe("2");
  expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test("many requests with one new key at once create one run", async () => {
  const { runtime } = new TestHost({ agents, limits: { queuedRequests: 100 } });
  const receipts = await Promise.all(
    Array.from({ length: 50 }, () => runtime.process("counter", chat("room-7"))),
  );
  expect(new Set(receipts.map(({ runId }) => runId)).size).toBe(1);
  const results = await Promise.all(receipts.map((receipt) => resultOf(runtime, receipt)));
  expect(results.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
});

test("each agent has its own runs of a key", async () => {
  const { runtime } = new TestHost({ agents });
  const counted = await runtime.process("counter", chat("room"));
  const asked = await runtime.process("asker", chat("room"));
  expect(asked.runId).not.toBe(counted.runId);
});

test("the request and its key are in one commit", async () => {
  const { log, runtime } = new TestHost({ agents });
  const batches: { readonly alias?: unknown; readonly requests?: readonly unknown[] }[] = [];
  const { append } = log;
  Object.assign(log, {
    append: (...args: Parameters<typeof append>) => {
      batches.push(args[1]);
      return append(...args);
    },
  });
  await runtime.process("counter", chat("room"));
  const [first] = batches;
  expect(first?.alias).toEqual({ agent: "counter", name: "room" });
  expect(first?.requests).toMatchObject([{ phase: "queued" }, { phase: "running" }]);
});

test("a request whose key another process has taken in the meantime goes to that run", async () => {
  const host = new TestHost({ agents });
  await host.runtime.ready();
  const { find } = host.log;
  const other = await host.runtime.createRun("counter", { key: "room" });
  let isFirst = true;
  Object.assign(host.log, {
    find: async (alias: Parameters<typeof find>[0]) => {
      if (!isFirst) return find(alias);
      isFirst = false;
      return undefined;
    },
  });
  const receipt = await host.runtime.process("counter", chat("room"));
  expect(receipt.runId).toBe(other);
  expect(await resultOf(host.runtime, receipt)).toBe("1");
  expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test("a request with an id is accepted once, also with a key", async () => {
  const { runtime } = new TestHost({ agents });
  const request = { ...chat("room"), request_id: "req_1" };
  const first = await runtime.process("counter", request);
  const again = await runtime.process("counter", request);
  expect(again).toMatchObject({ runId: first.runId, replayed: true });
  await expect(runtime.process("counter", { ...request, key: "other" })).rejects.toMatchObject({
    code: "conflict",
  });
  expect(await runtime.find("counter", "other")).toBeUndefined();
});

test("a run id and a key must name the same run", async () => {
  const { runtime } = new TestHost({ agents });
  const { runId } = await runtime.process("counter", chat("room"));
  const same = await runtime.process("counter", { ...chat("room"), run_id: runId ?? "" });
  expect(same.runId).toBe(runId);
  const differs = runtime.process("counter", { ...chat("other"), run_id: runId ?? "" });
  await expect(differs).rejects.toMatchObject({ code: "conflict" });
});

test("an answer and a configuration find a run by its key, and create none", async () => {
  const { runtime } = new TestHost({ agents });
  const answer = { type: "ResumeWithInput", key: "room", request_keys: { name: "Ada" } } as const;
  const configure = { type: "ConfigureRequest", key: "room", args: { tone: "loud" } } as const;
  await expect(runtime.process("asker", answer)).rejects.toMatchObject({ code: "not_found" });
  await expect(runtime.process("asker", configure)).rejects.toMatchObject({ code: "not_found" });
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);

  const asked = await runtime.process("asker", chat("room"));
  await runtime.acknowledgement(asked, { until: "completed", timeoutMs: 60_000 });
  expect(await runtime.process("asker", configure)).toMatchObject({ runId: asked.runId });
  expect(await resultOf(runtime, await runtime.process("asker", answer))).toBe('{"name":"Ada"}');
});

test.each(["", "a b", "a/b", "ä", "x".repeat(129)])("the key %j is refused", async (key) => {
  const { runtime } = new TestHost({ agents });
  await expect(runtime.process("counter", chat(key))).rejects.toMatchObject({ code: "invalid_request" });
  await expect(runtime.createRun("counter", { key })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(runtime.find("counter", key)).rejects.toMatchObject({ code: "invalid_request" });
});

test("the removal of a run frees its key", async () => {
  const { runtime } = new TestHost({ agents });
  const first = await runtime.process("counter", chat("room"));
  await resultOf(runtime, first);
  await runtime.removeRun(first.runId ?? "");
  const next = await runtime.process("counter", chat("room"));
  expect(next.runId).not.toBe(first.runId);
  expect(await resultOf(runtime, next)).toBe("1");
});

test.each([
  ["a text that is larger as JSON", "\u0001".repeat(60_000), "too_large"],
  ["a text that is larger as UTF-8", "é".repeat(150_000), "too_large"],
])("a chat with %s than an event is refused", async (_, input, code) => {
  const { runtime } = new TestHost({ agents });
  await expect(runtime.process("counter", { ...chat("room"), input })).rejects.toMatchObject({ code });
  expect(await runtime.find("counter", "room")).toBeUndefined();
});

test("a run is created only with values that its first event can hold", async () => {
  const { runtime } = new TestHost({ agents });
  let deep: JsonObject = {};
  for (let depth = 0; depth < 10_000; depth += 1) deep = { deep };
  const refused = [
    [{ metadata: deep }, "unprocessable"],
    [{ input: { size: 1n as unknown as number } }, "unprocessable"],
    [{ input: "x".repeat(300_000) }, "too_large"],
    [{ metadata: { note: "x".repeat(300_000) } }, "too_large"],
  ] as const;
  for (const [options, code] of refused)
    await expect(runtime.createRun("counter", { ...options, key: "room" })).rejects.toMatchObject({ code });
  expect(await runtime.find("counter", "room")).toBeUndefined();
  expect(await runtime.createRun("counter", { input: "x".repeat(250_000), key: "room" })).toMatch(/^run_/);
});
