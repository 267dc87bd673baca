import { defineAgent, defineTool, fromMachine } from "troupe";
import type { EventFilter, Feed, FollowOptions } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { createMachine, emit } from "xstate";
import { z } from "zod";
import { TestHost, asked, chat } from "../test-host.ts";

/** Makes one event of every kind, with a child and a wait in the middle. */
const many = defineAgent({
  name: "many",
  purpose: "Does one thing of every kind.",
  async chat(_input, turn) {
    await turn.text("one ");
    await turn.tool(child, {});
    await turn.call(machine, "chat", { input: "" });
    await turn.artifact({ name: "file", mimeType: "text/plain", data: "file" });
    await turn.sleep(1_000);
    await turn.waitForInput({ on: "Shall I go on?" });
    await turn.text("two");
  },
});

const machine = fromMachine({
  name: "machine",
  purpose: "Emits an event.",
  machine: createMachine({
    initial: "open",
    states: { open: { on: { chat: { target: "end", actions: emit({ type: "seen" }) } } }, end: {} },
  }),
});

const helper = defineAgent({
  name: "helper",
  purpose: "Says something.",
  async chat(_input, turn) {
    await turn.text("helped");
  },
});

const child = defineTool({
  name: "child",
  description: "Has somebody help.",
  input: z.object({}),
  async run(_input, turn) {
    await turn.text("working");
    await turn.call(helper, "chat", { input: "" });
    return "done";
  },
});

function parse(texts: readonly string[]): readonly Event[] {
  return texts.map((text) => JSON.parse(text) as Event);
}

/** Collects a stream until it ends. */
async function drain(feed: Feed): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { events } of feed.pages) texts.push(...events);
  return texts;
}

async function follow(host: TestHost, id: string, options: FollowOptions = {}): Promise<readonly string[]> {
  return drain(await host.runtime.follow(await host.runtime.resolve(id), options));
}

/** Runs a turn of `many` to its end and answers its wait. */
async function played(): Promise<TestHost> {
  const host = new TestHost({ agents: [many] });
  await host.ask("many", chat);
  await host.environment.advance(1_000);
  await host.ask("many", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { on: true },
  });
  return host;
}

test("from every cursor, the stream of a past turn has the same text as the live stream", async () => {
  const host = new TestHost({ agents: [many] });
  const { after } = await host.ask("many", chat);
  const live: string[] = [];
  const stop = new AbortController();
  const address = await host.runtime.resolve(asked);
  const feed = await host.runtime.follow(address, { after, forever: true, signal: stop.signal });
  const queries = (async () => {
    for await (const { events } of feed.pages) live.push(...events);
  })();
  await host.environment.advance(1_000);
  await host.ask("many", { type: "ResumeWithInput", request_id: asked, request_keys: { on: true } });
  stop.abort();
  await queries;
  expect(parse(live).at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });

  const { runId } = await host.runtime.resolve(asked);
  for (let cursor = 0; cursor < live.length; cursor += 1) {
    expect(await follow(host, asked, { after: cursor })).toEqual(live.slice(cursor));
    const page = await host.runtime.read(await host.runtime.resolve(runId), { after: cursor });
    expect(page.events).toEqual(live.slice(cursor));
  }
});

test("a stream ends where the request waits, and the next one at its end; each event comes once", async () => {
  const host = new TestHost({ agents: [many] });
  const receipt = await host.ask("many", chat);
  const first = follow(host, asked, { after: receipt.after });
  await host.environment.advance(1_000);
  const before = parse(await first);
  expect(before.at(-1)?.type).toBe("WaitForInput");

  const answer = await host.ask("many", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { on: true },
  });
  const rest = parse(await follow(host, asked, { after: answer.after }));
  expect(rest.map(({ type }) => type)).toEqual(["ResumeWithInput", "TextOutput", "RequestCompleted"]);
  const ids = [...before, ...rest].map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => index + 1));
});

test("a reader that connects at any moment around a turn's end gets the end once", async () => {
  const echo = defineAgent({
    name: "echo",
    purpose: "Says its words.",
    async chat(input, turn) {
      for (const word of input.split(" ")) await turn.text(word);
    },
  });
  for (let seed = 1; seed <= 200; seed += 1) {
    const host = new TestHost({ agents: [echo], seed });
    const receipt = host.runtime.process("echo", { ...chat, input: "a b" });
    await new Promise<void>((resolve) => {
      // The moment depends on the seed.
      let turns = 1 + (seed % 40);
      const wait = (): void => {
        turns -= 1;
        if (turns === 0) resolve();
        else host.environment.macrotask(wait);
      };
      wait();
    });
    const { after } = await receipt;
    const events = parse(await follow(host, asked, { after }));
    expect(events.map(({ type }) => type)).toEqual([
      "RequestStarted",
      "TextOutput",
      "TextOutput",
      "RequestCompleted",
    ]);
  }
});

test("a stream of an ended request with nothing after the cursor is finished from the start", async () => {
  const host = await played();
  const address = await host.runtime.resolve(asked);
  const { events } = await host.runtime.read(address, { after: 0 });
  const feed = await host.runtime.follow(address, { after: events.length });
  expect(feed.finished).toBe(true);
  const beyond = await host.runtime.follow(address, { after: 10_000 });
  expect(beyond.finished).toBe(true);
});

test("a stream of a run starts with its newest request and ends when the run is idle", async () => {
  const host = await played();
  const { runId } = await host.runtime.resolve(asked);
  const next = await host.ask("many", { type: "ChatRequest", input: "", run_id: runId });
  const queries = follow(host, runId);
  await host.environment.advance(1_000);
  expect(parse(await queries)[0]).toMatchObject({ type: "RequestStarted", request_id: next.requestId });
  await host.ask("many", {
    type: "ResumeWithInput",
    request_id: next.requestId,
    request_keys: { on: true },
  });
  const rest = parse(await follow(host, runId));
  expect(rest.at(-1)).toMatchObject({ type: "RequestCompleted", request_id: next.requestId });
});

test("a stream ends when its run is removed", async () => {
  const host = await played();
  const { runId } = await host.runtime.resolve(asked);
  const queries = follow(host, runId, { after: 3, forever: true });
  await host.environment.idle();
  const removing = host.runtime.removeRun(runId);
  await host.environment.idle();
  await removing;
  expect((await queries).length).toBeGreaterThan(0);
});

test("a stream ends also if its run was removed before the first read", async () => {
  const host = await played();
  const address = await host.runtime.resolve(asked);
  const { pages } = await host.runtime.follow(address, { after: 0 });
  const removing = host.runtime.removeRun(address.runId);
  await host.environment.idle();
  await removing;

  const seen: string[] = [];
  const queries = (async () => {
    for await (const { events } of pages) seen.push(...events);
    seen.push("the end");
  })();
  await host.environment.idle();
  expect(seen).toEqual(["the end"]);
  await queries;
});

const TOOLS = ["ToolCall", "ToolResult", "ToolTextOutput"] as const;
const ALWAYS = ["RequestStarted", "WaitForInput", "ResumeWithInput", "RequestCompleted"];

test.each([
  ["minimal", [...ALWAYS, "TextOutput", "ArtifactGenerated"], 0],
  ["tools", [...ALWAYS, "TextOutput", "ArtifactGenerated", ...TOOLS], 1],
  ["agents", [...ALWAYS, "TextOutput", "ArtifactGenerated", ...TOOLS, "StateChanged", "Sleeping"], 2],
  [
    "default",
    [...ALWAYS, "TextOutput", "ArtifactGenerated", ...TOOLS, "StateChanged", "Sleeping", "Custom"],
    2,
  ],
] as const)("a reader of level %s sees what belongs to it", async (level, types, depth) => {
  const host = await played();
  const address = await host.runtime.resolve(asked);
  const all = parse((await host.runtime.read(address, { after: 0 })).events);
  const page = await host.runtime.read(address, { after: 0, filter: { level } });
  const seen = parse(page.events);

  expect([...new Set(seen.map(({ type }) => type))].sort()).toEqual([...types].sort());
  expect(Math.max(...seen.map((event) => event.depth))).toBe(depth);
  expect(page.cursor).toBe(all.length);
});

test("a request's level applies to readers that set no filter", async () => {
  const host = new TestHost({ agents: [many] });
  await host.ask("many", { ...chat, logging_level: "minimal" });
  const address = await host.runtime.resolve(asked);
  const types = async (filter?: EventFilter): Promise<readonly string[]> =>
    parse((await host.runtime.read(address, { after: 0, ...(filter && { filter }) })).events).map(
      ({ type }) => type,
    );
  expect(await types()).not.toContain("ToolCall");
  expect(await types({ level: "all" })).toContain("ToolCall");
  expect(await types({ types: ["ToolCall"] })).toEqual([
    "RequestStarted",
    "ToolCall",
    "ToolCall",
    "ToolCall",
  ]);
  await host.restart();
  expect(await types()).not.toContain("ToolCall");
});

test("a page filtered by depth or agent advances its cursor past filtered events", async () => {
  const host = await played();
  const address = await host.runtime.resolve(asked);
  const all = parse((await host.runtime.read(address, { after: 0 })).events);
  const shallow = await host.runtime.read(address, { after: 0, filter: { maxDepth: 0 } });
  expect(parse(shallow.events)).toEqual(all.filter(({ depth }) => depth === 0));
  const helped = await host.runtime.read(address, { after: 0, filter: { agent: "helper" } });
  expect(
    parse(helped.events).some((event) => event.type === "TextOutput" && event.content === "helped"),
  ).toBe(true);
  expect(parse(helped.events).some((event) => event.type === "TextOutput" && event.content === "two")).toBe(
    false,
  );
  expect([shallow.cursor, helped.cursor]).toEqual([all.length, all.length]);
});

test("an unknown id is not found, with a clear error", async () => {
  const host = new TestHost({ agents: [many] });
  await host.runtime.ready();
  await expect(host.runtime.resolve("nobody")).rejects.toMatchObject({ code: "not_found" });
  await expect(host.runtime.status("nobody")).rejects.toMatchObject({ code: "not_found" });
  const empty = await host.runtime.read({ kind: "run", runId: "nobody", agent: "many" }, { after: 0 });
  expect(empty).toEqual({ events: [], cursor: 0, more: false });
});
