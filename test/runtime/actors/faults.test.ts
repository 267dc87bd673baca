import type { Event, JsonObject } from "troupe/protocol";
import { expect, test } from "vitest";
import { asked, TestHost } from "../test-host.ts";
import { list, peer, user } from "./agents.ts";

const agents = [list, user, peer];
const run = (operation: string, input: JsonObject, request_id: string = asked) =>
  ({ type: "OperationRequest", operation, input, request_id }) as const;

async function eventsOf(host: TestHost, agent: string, key: string): Promise<readonly Event[]> {
  const runId = await host.runtime.find(agent, key);
  return runId === undefined ? [] : host.events(runId);
}

async function errorOf(host: TestHost, requestId: string = asked): Promise<unknown> {
  return (await host.events(requestId)).find(({ type }) => type === "ToolError");
}

test("a full actor makes its senders wait, and accepts them in their order", async () => {
  const host = new TestHost({ agents, limits: { queuedActorRequests: 1 } });
  await host.ask("list", { ...run("hold", {}, "first"), key: "shop" });
  await host.ask("user", run("tell_all", { key: "shop" }));
  expect((await host.events(asked)).filter(({ type }) => type === "ToolResult")).toHaveLength(1);
  await host.ask("list", { type: "ResumeWithInput", request_id: "first", request_keys: { go: true } });
  await host.environment.advance(5_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: 3 });
  const texts = (await eventsOf(host, "list", "shop")).flatMap((event) =>
    event.type === "TextOutput" ? [event.content] : [],
  );
  expect(texts).toEqual(["a", "b", "c"]);
});

test("a request that waits for room for a minute fails with overloaded and was never accepted", async () => {
  const host = new TestHost({ agents, limits: { queuedActorRequests: 1 } });
  await host.ask("list", { ...run("hold", {}, "first"), key: "shop" });
  await host.ask("user", run("tell_all", { key: "shop" }));
  for (let s = 0; s < 130; s += 1) await host.environment.advance(1_000);
  expect(await errorOf(host)).toMatchObject({ code: "overloaded" });
  await host.ask("list", { type: "CancelRequest", request_id: "first" });
  const starts = (await eventsOf(host, "list", "shop")).filter(({ type }) => type === "RequestStarted");
  expect(starts).toHaveLength(2);
});

test("clients keep their own room in a mailbox that actors have filled", async () => {
  const host = new TestHost({ agents, limits: { queuedActorRequests: 1, queuedRequests: 1 } });
  await host.ask("list", { ...run("hold", {}, "first"), key: "shop" });
  await host.ask("user", run("tell_only", { key: "shop" }));
  const request = { ...run("all", {}, "second"), key: "shop", on_busy: "enqueue" } as const;
  await expect(host.ask("list", request)).resolves.toMatchObject({ replayed: false });
  await expect(host.ask("list", { ...request, request_id: "third" })).rejects.toMatchObject({
    code: "overloaded",
  });
});

test("an actor that was removed is gone for those who know its run, and new for those who know its key", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("list", { ...run("add", { item: "x" }, "first"), key: "shop" });
  await host.runtime.removeRun(runId ?? "");
  await host.ask("user", run("ask_run", { run_id: runId }));
  expect(await errorOf(host)).toMatchObject({ code: "gone" });
  await host.ask("user", run("ask_all", { key: "shop" }, "second"));
  expect((await host.events("second")).at(-1)).toMatchObject({ output: { items: ["a", "b"] } });
});

test("a run whose reply has not arrived cannot be removed", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "from" }));
  const runId = (await host.runtime.find("list", "bad")) ?? "";
  // The reply has arrived, and its entry is removed with the run.
  await host.runtime.removeRun(runId);
  expect(await host.log.outbox({})).toEqual([]);
});

test("a cancel that comes before its request is accepted with it in one commit", async () => {
  // The process dies after the ToolCall is committed and before the request is sent.
  const host = new TestHost({ agents, commitFaults: [{ commit: 2, kind: "crash", written: true }] });
  void host.ask("user", run("ask_bad", { operation: "hold" }));
  await host.environment.idle();
  expect(host.crashed).toBe(true);
  expect(await host.log.find({ agent: "list", name: "bad" })).toBeUndefined();
  // The next one has no agent that could continue the turn, so that the turn is canceled while it is held.
  await host.restart([list, peer]);
  await host.ask("user", { type: "CancelRequest", request_id: asked });
  await host.environment.advance(1_000);
  expect(await errorOf(host)).toMatchObject({ code: "canceled" });
  const types = (await eventsOf(host, "list", "bad")).map(({ type }) => type);
  expect(types).toEqual(["RequestStarted", "CancelRequest", "RequestCompleted"]);
  await host.environment.advance(5_000);
  expect(await host.log.outbox({})).toEqual([]);
});

test.each([
  { what: "an unknown operation", operation: "none", input: {} },
  { what: "an input that does not fit", operation: "add", input: { item: 1 } },
])("an ask with $what fails with invalid_input and creates no actor", async ({ operation, input }) => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_wrong", { operation, input }));
  expect(await errorOf(host)).toMatchObject({ code: "invalid_input" });
  expect(await host.runtime.find("list", "wrong")).toBeUndefined();
});

test("an actor that asks itself, directly or through others, gets would_deadlock with the cycle", async () => {
  const host = new TestHost({ agents });
  await host.ask("peer", { ...run("chain", { keys: ["a"] }), key: "a" });
  expect(await errorOf(host)).toMatchObject({ code: "would_deadlock" });
  await host.ask("peer", { ...run("chain", { keys: ["y", "x"] }, "second"), key: "x" });
  const [x, y] = [await host.runtime.find("peer", "x"), await host.runtime.find("peer", "y")];
  const [asker] = await eventsOf(host, "peer", "y").then((events) =>
    events.filter(({ type }) => type === "ToolError"),
  );
  expect(asker).toMatchObject({ code: "would_deadlock" });
  expect(JSON.stringify(asker)).toContain(`${x} → ${y} → ${x}`);
  expect(await host.runtime.status("second")).toMatchObject({ status: "completed" });
});

test("a request over the wire to an actor that waits for it is refused with the cycle", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("list", { ...run("hold", {}), key: "shop" });
  const caller = [{ run_id: runId ?? "", request_id: asked }];
  const request = { ...run("all", {}, "second"), key: "shop", caller, on_busy: "enqueue" } as const;
  await expect(host.ask("list", request)).rejects.toMatchObject({
    code: "would_deadlock",
    details: { facts: { cycle: [runId, runId] } },
  });
  const told = {
    ...request,
    caller: [{ ...caller[0], run_id: runId ?? "", request_id: asked, waits: false }],
  };
  await expect(host.ask("list", told)).resolves.toMatchObject({ replayed: false });
});

test("a chain of asks ends at the limit of depth with too_deep", async () => {
  const host = new TestHost({ agents, limits: { depth: 3, selfCalls: 100 } });
  await host.ask("peer", { ...run("chain", { keys: ["b", "c", "d", "e"] }), key: "a" });
  expect((await eventsOf(host, "peer", "d")).find(({ type }) => type === "ToolError")).toMatchObject({
    code: "too_deep",
  });
  expect(await eventsOf(host, "peer", "e")).toEqual([]);
});

test("the limit of self-calls counts actors: a chain of asks of one agent ends only at the limit of depth", async () => {
  const host = new TestHost({ agents, limits: { selfCalls: 1, depth: 3 } });
  await host.ask("peer", { ...run("chain", { keys: ["b", "c", "d", "e"] }), key: "a" });
  expect((await eventsOf(host, "peer", "e")).length).toBe(0);
  expect((await eventsOf(host, "peer", "d")).find(({ type }) => type === "ToolError")).toMatchObject({
    code: "too_deep",
    content: expect.stringContaining("nested more than 3 deep") as string,
  });
});

test(
  "actors that tell each other without end stop after 1,000 hops",
  { tags: "long", timeout: 60_000 },
  async () => {
    const host = new TestHost({ agents });
    await host.ask("peer", { ...run("bounce", { to: "b" }), key: "a" });
    const events = [...(await eventsOf(host, "peer", "a")), ...(await eventsOf(host, "peer", "b"))];
    expect(events.filter(({ type }) => type === "RequestStarted")).toHaveLength(1_001);
    expect(events.filter((event) => event.type === "ToolError" && event.code === "too_deep")).toHaveLength(1);
    expect(await host.log.open()).toEqual([]);
  },
);

test("an actor accepts requests of others while it waits for a person", async () => {
  const host = new TestHost({ agents });
  await host.ask("list", { ...run("hold", {}, "first"), key: "shop" });
  await host.ask("user", run("tell_only", { key: "shop" }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(await host.runtime.status("first")).toMatchObject({ status: "waiting" });
});

test("an answer that arrives while the turn waits for a person too is there when the person has answered", async () => {
  const host = new TestHost({ agents });
  await host.ask("peer", { ...run("ask_later", { to: "b" }), key: "a" });
  await host.restart();
  await host.ask("peer", { type: "ResumeWithInput", request_id: asked, request_keys: { go: true } });
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: "end" });
});
