import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { Event, JsonObject } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { asked, TestHost } from "../test-host.ts";
import { list, user } from "./agents.ts";

const agents = [list, user];
const run = (operation: string, input: JsonObject) =>
  ({ type: "OperationRequest", operation, input, request_id: asked }) as const;

async function eventsOf(host: TestHost, key: string): Promise<readonly Event[]> {
  return host.events((await host.runtime.find("list", key)) ?? "none");
}

test("an ask runs as a turn of the other actor and resolves with its output", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_all", { key: "shop" }));
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({
    type: "RequestCompleted",
    output: { first: 1, second: 2, items: ["a", "b"] },
  });
  const [call] = events.filter(({ type }) => type === "ToolCall");
  expect(call).toMatchObject({
    function_name: "list.add",
    args: { item: "a" },
    mode: "ask",
    callee: { kind: "actor", name: "list", key: "shop" },
  });
  const other = await eventsOf(host, "shop");
  expect(other.filter(({ type }) => type === "RequestStarted")).toHaveLength(3);
  // What the other actor says stays in its own run.
  expect(events.some(({ type }) => type === "TextOutput")).toBe(false);
  expect(host.faults).toEqual([]);
});

test("the outboxes are empty a second later", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_all", { key: "shop" }));
  expect(await host.log.outbox({})).toHaveLength(3);
  await host.environment.advance(1_000);
  expect(await host.log.outbox({})).toEqual([]);
});

test("tells arrive in their order, and a turn ends when all have arrived", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("tell_all", { key: "shop" }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: 3 });
  const texts = (await eventsOf(host, "shop")).flatMap((event) =>
    event.type === "TextOutput" ? [event.content] : [],
  );
  expect(texts).toEqual(["a", "b", "c"]);
});

test("a tell that the handler does not await has arrived before its turn ends", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("tell_only", { key: "shop" }));
  const types = (await host.events(asked)).map(({ type }) => type);
  expect(types).toEqual(["RequestStarted", "ToolCall", "ToolResult", "RequestCompleted"]);
  expect((await eventsOf(host, "shop")).at(-1)).toMatchObject({ output: 1 });
});

test("the asked actor knows its own address and that of its sender", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("user", { ...run("ask_bad", { operation: "from" }), key: "ada" });
  const output = {
    self: { agent: "list", key: "bad", run_id: await host.runtime.find("list", "bad") },
    sender: { agent: "user", key: "ada", run_id: runId },
  };
  expect((await host.events(asked)).at(-1)).toMatchObject({ output });
  const [started] = await eventsOf(host, "bad");
  expect(started).toMatchObject({ type: "RequestStarted", sender: output.sender });
});

test("an address is data: one that comes in an input, through another actor, is told", async () => {
  const address = z.object({ agent: z.string(), key: z.string().optional(), run_id: z.string() });
  const porter = defineAgent({
    name: "porter",
    purpose: "Adds an item to the list whose address it gets, and passes the address on.",
    operations: (own) => ({
      carry: own({
        input: z.object({ to: address, item: z.string(), next: address.optional() }),
        async run({ to, item, next }, turn) {
          await turn.tell(turn.actor(list, to), "add", { item });
          if (next) await turn.tell(turn.actor(porter as Agent, next), "carry", { to, item: "passed on" });
          return turn.self;
        },
      }),
    }),
  });
  const host = new TestHost({ agents: [list, porter] });
  const created = await host.runtime.createRun("list", { key: "shop" });
  const to = { agent: "list", key: "shop", run_id: created };
  const carry = (input: JsonObject, key: string, id: string) =>
    host.ask("porter", { ...run("carry", input), key, request_id: id });
  await carry({ to, item: "first" }, "ada", "one");
  const [end] = (await host.events("one")).filter((event) => event.type === "RequestCompleted");
  await carry({ to, item: "second", next: end?.output ?? null }, "bob", "two");
  await host.environment.idle();
  const texts = (await host.events(created)).flatMap((event) =>
    event.type === "TextOutput" ? [event.content] : [],
  );
  expect(texts).toEqual(["first", "second", "passed on"]);
});

test("a failed turn of the asked actor is an error of the ask", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "fail" }));
  expect((await host.events(asked)).at(-2)).toMatchObject({
    type: "ToolError",
    code: "tool_error",
    content: "the list is broken",
  });
});

test("an ask that is not answered in time fails with timeout, and its request is canceled", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold", timeoutMs: 5_000 }));
  expect(await host.runtime.status(asked)).toMatchObject({ status: "running" });
  await host.environment.advance(5_000);
  expect((await host.events(asked)).at(-2)).toMatchObject({ type: "ToolError", code: "timeout" });
  expect((await eventsOf(host, "bad")).at(-1)).toMatchObject({ finish_reason: "canceled" });
  await host.environment.advance(1_000);
  expect(await host.log.outbox({})).toEqual([]);
});

test("an ask of a canceled turn is canceled too", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold" }));
  await host.ask("user", { type: "CancelRequest", request_id: asked });
  expect((await host.events(asked)).map(({ type }) => type)).toEqual([
    "RequestStarted",
    "ToolCall",
    "CancelRequest",
    "ToolError",
    "RequestCompleted",
  ]);
  expect((await eventsOf(host, "bad")).at(-1)).toMatchObject({ finish_reason: "canceled" });
});

test("an ask that a client cancels fails with canceled", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold" }));
  const [started] = await eventsOf(host, "bad");
  await host.ask("list", { type: "CancelRequest", request_id: started?.request_id ?? "" });
  expect((await host.events(asked)).at(-2)).toMatchObject({ type: "ToolError", code: "canceled" });
});
