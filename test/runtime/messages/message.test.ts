import { defineAgent } from "troupe";
import type { Event } from "troupe/protocol";
import type { LoggedEvents } from "../../../src/protocol/events/texts.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";
import { deaf, listener, message, reader } from "./agents.ts";

const agents = [reader, listener, deaf];

test("a message with a new key creates the run and its key in one commit, and starts no turn", async () => {
  const host = new TestHost({ agents });
  const batches: { readonly alias?: unknown; readonly events: LoggedEvents }[] = [];
  const { append } = host.log;
  Object.assign(host.log, {
    append: (...args: Parameters<typeof append>) => {
      batches.push(args[1]);
      return append(...args);
    },
  });
  const receipt = await host.ask("reader", message("note", "hello", { request_id: "m1" }));
  expect(batches).toHaveLength(1);
  expect(batches[0]?.alias).toEqual({ agent: "reader", name: "room" });
  const event = JSON.parse(receipt.event ?? "") as Event;
  expect(event).toMatchObject({
    id: 1,
    type: "MessageReceived",
    role: "user",
    agent: "reader",
    depth: 0,
    request_id: null,
    message_id: "m1",
    name: "note",
    body: "hello",
  });
  const [run] = (await host.runtime.runs({ limit: 10 })).runs;
  expect(run).toMatchObject({ status: "idle", turns: 0, key: "room" });
});

test("many messages with one new key at once create one run", async () => {
  const { runtime } = new TestHost({ agents });
  const receipts = await Promise.all(
    Array.from({ length: 50 }, (_, n) => runtime.process("reader", message("note", String(n)))),
  );
  expect(new Set(receipts.map(({ runId }) => runId)).size).toBe(1);
});

test("a repeated message is taken once, also at once, in the turn, after it and after a restart", async () => {
  const host = new TestHost({ agents });
  const sent = message("note", "once", { request_id: "m1" });
  const receipts = await Promise.all(Array.from({ length: 20 }, () => host.runtime.process("reader", sent)));
  expect(receipts.filter(({ replayed }) => !replayed)).toHaveLength(1);
  const again = await host.ask("reader", sent);
  await host.ask("reader", { type: "ChatRequest", input: "", key: "room", request_id: "r1" });
  await host.restart();
  const late = await host.ask("reader", sent);
  for (const { event, replayed } of [again, late])
    expect({ event, replayed }).toEqual({ event: receipts[0]?.event, replayed: true });
  const history = await host.events(receipts[0]?.runId ?? "");
  expect(history.filter(({ type }) => type === "MessageReceived")).toHaveLength(1);
  expect(history.at(-1)).toMatchObject({ result: JSON.stringify([["once"], [], []]) });
});

test("an id that was used for something else is a conflict", async () => {
  const host = new TestHost({ agents });
  await host.ask("reader", message("note", "a", { request_id: "m1" }));
  await host.ask("reader", { type: "ChatRequest", input: "", request_id: "r1" });
  const used = { code: "conflict" };
  const { runtime } = host;
  for (const other of [
    message("note", "b", { request_id: "m1" }),
    message("note", "a", { request_id: "m1", key: "other" }),
    message("count", {}, { request_id: "m1" }),
    message("note", "a", { request_id: "r1" }),
    { type: "ChatRequest", input: "", request_id: "m1" } as const,
  ])
    await expect(runtime.process("reader", other)).rejects.toMatchObject(used);
  await expect(runtime.process("listener", message("note", "a", { request_id: "m1" }))).rejects.toMatchObject(
    used,
  );
});

test("a name that the agent does not declare is refused with the declared names, and creates nothing", async () => {
  const { runtime } = new TestHost({ agents });
  await expect(runtime.process("reader", message("toString", 1))).rejects.toMatchObject({
    code: "unprocessable",
    details: { hint: "its messages: note, count", facts: { messages: ["note", "count"] } },
  });
  await expect(runtime.process("deaf", message("note", "x"))).rejects.toMatchObject({
    code: "unprocessable",
    details: { hint: "it accepts no messages" },
  });
  await expect(runtime.process("reader", message("note", 5))).rejects.toMatchObject({
    code: "unprocessable",
  });
  await expect(runtime.process("reader", message("note", "x".repeat(300_000)))).rejects.toMatchObject({
    code: "too_large",
  });
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
});

test("a run id of another agent, or of no run, is not found", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("listener", message("note", "x"));
  const { key: _, ...unkeyed } = message("note", "x") as { readonly key?: string };
  for (const run_id of [runId, "run_unknown"])
    await expect(host.runtime.process("reader", { ...unkeyed, run_id } as never)).rejects.toMatchObject({
      code: "not_found",
    });
  await expect(
    host.runtime.process("listener", message("note", "x", { run_id: runId, key: "other" })),
  ).rejects.toMatchObject({ code: "conflict" });
});

test("the unread messages of a run are limited by number and by bytes", async () => {
  const host = new TestHost({ agents, limits: { unreadMessages: 3, unreadBytes: 2_000 } });
  for (const body of ["1", "2", "3"]) await host.ask("reader", message("note", body));
  await expect(host.ask("reader", message("note", "4"))).rejects.toMatchObject({
    code: "overloaded",
    message: "the run already has 3 unread messages",
    details: { retryAfterS: 1 },
  });
  await host.restart();
  await expect(host.ask("reader", message("note", "4"))).rejects.toMatchObject({ code: "overloaded" });
  await host.ask("reader", { type: "ChatRequest", input: "", key: "room" });
  await host.ask("reader", message("note", "x".repeat(1_500)));
  await expect(host.ask("reader", message("note", "y".repeat(600)))).rejects.toMatchObject({
    code: "overloaded",
    message: "the run already has 2000 bytes of unread messages",
  });
});

test("a message is a completed request whose only event is its own", async () => {
  const host = new TestHost({ agents });
  const started = await host.ask("listener", {
    type: "ChatRequest",
    input: "",
    key: "room",
    request_id: "r1",
  });
  await host.ask("listener", message("note", "a", { request_id: "m1" }));
  const { runtime } = host;
  expect(await runtime.status("m1")).toMatchObject({
    request_id: "m1",
    run_id: started.runId,
    operation: "note",
    status: "completed",
    finish_reason: "success",
  });
  const address = await runtime.resolve("m1");
  const { events } = await runtime.read(address, { after: 0 });
  expect(events.map((text) => JSON.parse(text) as unknown)).toMatchObject([
    { type: "MessageReceived", request_id: "r1", message_id: "m1" },
  ]);
  const seen: string[] = [];
  for await (const page of (await runtime.follow(address, {})).pages) seen.push(...page.events);
  expect(seen).toEqual(events);
  await expect(
    runtime.process("listener", { type: "CancelRequest", request_id: "m1" }),
  ).rejects.toMatchObject({
    code: "conflict",
    message: "m1 is a message; a message cannot be canceled",
  });
});

test("a message between two turns changes neither the segment of the run's stream nor its turns", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("reader", {
    type: "ChatRequest",
    input: "",
    key: "room",
    request_id: "r1",
  });
  await host.ask("reader", message("note", "late"));
  const seen: Event[] = [];
  const feed = await host.runtime.follow({ kind: "run", runId: runId ?? "", agent: "reader" }, {});
  for await (const page of feed.pages) seen.push(...page.events.map((text) => JSON.parse(text) as Event));
  expect(seen.map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted", "MessageReceived"]);
  expect((await host.runtime.status("r1")).last_event_id).toBe(2);
});

test("readers of every level and filter get the messages of their request", async () => {
  const host = new TestHost({ agents });
  await host.ask("listener", {
    type: "ChatRequest",
    input: "",
    key: "room",
    request_id: "r1",
    logging_level: "minimal",
  });
  await host.ask("listener", message("note", "a"));
  const address = await host.runtime.resolve("r1");
  for (const filter of [{}, { types: ["TextOutput"] }, { level: "tools" }, { agent: "x" }] as const) {
    const { events } = await host.runtime.read(address, { after: 0, filter });
    expect(events.some((text) => text.includes("MessageReceived"))).toBe(true);
  }
});

test("a removed run takes no message, and its key starts a new run", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("reader", message("note", "a", { request_id: "m1" }));
  await host.runtime.removeRun(runId ?? "");
  await expect(host.ask("reader", message("note", "a", { request_id: "m1" }))).rejects.toMatchObject({
    code: "gone",
  });
  const next = await host.ask("reader", message("note", "b"));
  expect(next.runId).not.toBe(runId);
});

test("a fork has no unread messages", async () => {
  const host = new TestHost({ agents });
  const { runId } = await host.ask("reader", message("note", "a"));
  await host.ask("reader", { type: "ChatRequest", input: "", key: "room" });
  await host.ask("reader", message("note", "b"));
  const end = (await host.events(runId ?? "")).find(({ type }) => type === "RequestCompleted")?.id ?? 0;
  const fork = await host.runtime.fork(runId ?? "", { after: end });
  await host.restart();
  await host.ask("reader", { type: "ChatRequest", input: "", run_id: fork, request_id: "r2" });
  expect((await host.events("r2")).at(-1)).toMatchObject({ result: JSON.stringify([[], [], []]) });
});

test("definitions: names share one namespace with operations, and bodies have schemas", () => {
  const chat = (): string => "";
  const define = (messages: object): unknown =>
    defineAgent({ name: "x", purpose: "", chat, messages: messages as never });
  expect(() => define({ chat: z.string() })).toThrow(
    "agent x has an operation and a message with the name chat; rename one of them",
  );
  expect(() => define({ "Bad Name": z.string() })).toThrow('"Bad Name" is not a valid message name');
  expect(() => define({ steer: { type: "string" } })).toThrow("message steer of agent x is a JSON Schema");
});

test("the description of an agent lists its messages", () => {
  const { runtime } = new TestHost({ agents });
  expect(runtime.describe("reader").messages).toMatchObject([
    { name: "note", body_schema: { type: "string" } },
    { name: "count", body_schema: { type: "object" } },
  ]);
  expect(runtime.describe("deaf")).not.toHaveProperty("messages");
});
