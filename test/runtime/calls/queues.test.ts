import { AgentError, defineAgent, defineTool, ModelError } from "troupe";
import type { Agent, Model, QueueOptions, Tool } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";
import { atEveryCrash } from "./crashes.ts";
import { outcomeOf } from "./outcome.ts";

const nothing = z.object({});

/** A tool that takes 100 ms each time, and notes when it starts and ends. */
function slowTool(
  notes: string[],
  options: QueueOptions & { readonly effect?: "idempotent" | "unsafe" },
): { readonly tool: Tool<{ readonly name: string }, string>; host: TestHost | undefined } {
  const made = {
    host: undefined as TestHost | undefined,
    tool: defineTool({
      name: "slow",
      description: "Takes its time.",
      input: z.object({ name: z.string() }),
      ...options,
      async run({ name }) {
        notes.push(`+${name}`);
        await made.host?.pause(100);
        notes.push(`-${name}`);
        return name;
      },
    }),
  };
  return made;
}

function callerOf(tool: Tool<{ readonly name: string }, string>): Agent {
  return defineAgent({
    name: "caller",
    purpose: "Calls a tool for each word at once.",
    async chat(input, turn) {
      const done = await Promise.all(input.split(" ").map((name) => outcomeOf(turn.tool(tool, { name }))));
      return done.map((one) => one.replace("result ", "")).join(" ");
    },
  });
}

test("a tool with a concurrency runs no more calls at once, in the order of a run, the runs in turn", async () => {
  const notes: string[] = [];
  const slow = slowTool(notes, { concurrency: 2 });
  const host = new TestHost({ agents: [callerOf(slow.tool)] });
  slow.host = host;
  await host.ask("caller", { ...chat, input: "a1 a2 a3 a4" });
  await host.ask("caller", { ...chat, request_id: "other", input: "b1 b2" });
  expect(notes).toEqual(["+a1", "+a2"]);
  await host.environment.advance(300);
  expect(notes.filter((note) => note.startsWith("+"))).toEqual(["+a1", "+a2", "+a3", "+b1", "+a4", "+b2"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: '"a1" "a2" "a3" "a4"' });
  expect((await host.events("other")).at(-1)).toMatchObject({ result: '"b1" "b2"' });
  expect(host.environment.timers).toBe(0);
});

test("all ToolCalls are logged at once, and the wait for the slot is in the log", async () => {
  const slow = slowTool([], { concurrency: 1 });
  const host = new TestHost({ agents: [callerOf(slow.tool)] });
  slow.host = host;
  const { runId } = await host.ask("caller", { ...chat, input: "a b" });
  expect(ofType(await host.events(asked), "ToolCall")).toHaveLength(2);
  const recordsOf = async (): Promise<readonly unknown[]> =>
    (await host.log.read(runId ?? "", { after: 0, records: true })).records
      .filter(({ type }) => type === "Queued" || type === "Begun")
      .map(({ type, ["call_id"]: callId }) => `${type} ${callId as string}`);
  expect(await recordsOf()).toEqual(["Queued c1.2"]);
  await host.environment.advance(100);
  expect(await recordsOf()).toEqual(["Queued c1.2", "Begun c1.2"]);
});

test("a rate lets one call start, then one per part of the time, and more after a pause", async () => {
  const notes: string[] = [];
  const slow = slowTool(notes, { rate: { limit: 4, perMs: 1_000 } });
  const host = new TestHost({ agents: [callerOf(slow.tool)] });
  slow.host = host;
  const startsAfter = async (ms: number): Promise<number> => {
    await host.environment.advance(ms);
    return notes.filter((note) => note.startsWith("+")).length;
  };
  await host.ask("caller", { ...chat, input: "a b c d" });
  expect(await startsAfter(0)).toBe(1);
  expect(await startsAfter(249)).toBe(1);
  expect(await startsAfter(1)).toBe(2);
  expect(await startsAfter(500)).toBe(4);
  await host.environment.advance(10_000);
  expect(host.environment.timers).toBe(0);
  await host.ask("caller", { ...chat, request_id: "other", input: "e f g h i" });
  expect(await startsAfter(0)).toBe(8);
  expect(await startsAfter(250)).toBe(9);
});

test("after a crash only the call that had begun is in doubt, and a queued one runs once", async () => {
  const notes: string[] = [];
  const slow = slowTool(notes, { concurrency: 1, effect: "unsafe" });
  const host = new TestHost({ agents: [callerOf(slow.tool)] });
  slow.host = host;
  await host.ask("caller", { ...chat, input: "a b c" });
  await host.restart();
  await host.environment.advance(300);
  const events = await host.events(asked);
  expect(notes.filter((note) => note.startsWith("+"))).toEqual(["+a", "+b", "+c"]);
  expect(ofType(events, "ToolCall").map(({ attempt }) => attempt)).toEqual([undefined, undefined, undefined]);
  expect(ofType(events, "ToolError").map(({ code, tool_call_id: id }) => [code, id])).toEqual([
    ["interrupted", "c1.1"],
  ]);
});

test("an idempotent tool in a queue has the same end after a crash at any commit", async () => {
  const quick = defineTool({
    name: "quick",
    description: "Repeats.",
    input: z.object({ name: z.string() }),
    effect: "idempotent",
    concurrency: 1,
    run: ({ name }) => name,
  });
  const agents = [callerOf(quick)];
  for (const { place, events } of await atEveryCrash({
    agents,
    to: "caller",
    input: "a b c",
    stepMs: 1,
    steps: 2,
  })) {
    const end = { finish_reason: "success", result: '"a" "b" "c"' };
    expect({ place, end: events.at(-1) }).toMatchObject({ place, end });
  }
});

test("a tool that waits for a person frees its slot, and continues at once with the answer", async () => {
  const notes: string[] = [];
  const asking = defineTool({
    name: "asking",
    description: "Asks.",
    input: z.object({ name: z.string() }),
    concurrency: 1,
    async run({ name }, turn) {
      notes.push(`+${name}`);
      await turn.waitForInput({ [name]: `${name}?` });
      notes.push(`-${name}`);
      return name;
    },
  });
  const host = new TestHost({ agents: [callerOf(asking)] });
  await host.ask("caller", { ...chat, input: "a b" });
  expect(notes).toEqual(["+a", "+b"]);
  const waits = ofType(await host.events(asked), "WaitForInput");
  expect((await host.runtime.status(asked)).status).toBe("waiting");
  await host.restart();
  for (const { wait_id, request_keys } of waits.toReversed())
    await host.ask("caller", { type: "ResumeWithInput", request_id: asked, wait_id, request_keys });
  expect(notes.slice(-2)).toEqual(["-b", "-a"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: '"a" "b"' });
});

test("below a held slot nothing waits: a call without a free slot is overloaded", async () => {
  const inner = slowTool([], { concurrency: 1 });
  const outer = defineTool({
    name: "outer",
    description: "Calls another tool twice at once.",
    input: z.object({ name: z.string() }),
    concurrency: 5,
    run: async (_input, turn) =>
      (await Promise.all(["x", "y"].map((name) => outcomeOf(turn.tool(inner.tool, { name }))))).join(" "),
  });
  const host = new TestHost({ agents: [callerOf(outer)] });
  inner.host = host;
  await host.ask("caller", { ...chat, input: "a" });
  await host.environment.advance(100);
  const events = await host.events(asked);
  expect(ofType(events, "ToolError")).toMatchObject([{ code: "overloaded", tool_call_id: "c1.1.2" }]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a full queue refuses more calls, and a retry waits for a free slot", async () => {
  const slow = slowTool([], { concurrency: 1 });
  const agent = defineAgent({
    name: "caller",
    purpose: "Calls too much.",
    async chat(_input, turn) {
      const retry = { attempts: 5, backoffMs: 50 };
      const calls = ["a", "b", "c"].map((name) => turn.tool(slow.tool, { name }));
      const last = turn.tool(slow.tool, { name: "d" }, { retry });
      return (await Promise.all([...calls, last].map(outcomeOf))).join("\n");
    },
  });
  const host = new TestHost({ agents: [agent], limits: { queuedCalls: 1 } });
  slow.host = host;
  await host.ask("caller", chat);
  await host.environment.advance(1_000);
  const events = await host.events(asked);
  const message = "slow was not started: all its slots are taken, and too much waits for them";
  const refused = { code: "overloaded", agent: "slow", operation: "slow", callId: "c1.3", message };
  expect(events.at(-1)).toMatchObject({
    result: ['result "a"', 'result "b"', JSON.stringify(refused), 'result "d"'].join("\n"),
  });
});

test("a call leaves the queue at its deadline, when it is canceled, and when its turn ends", async () => {
  const notes: string[] = [];
  const slow = slowTool(notes, { concurrency: 1 });
  const agent = defineAgent({
    name: "caller",
    purpose: "Does not wait for long.",
    async chat(_input, turn) {
      const first = turn.tool(slow.tool, { name: "first" });
      const late = turn.tool(slow.tool, { name: "late" }, { timeoutMs: 50 });
      const canceled = turn.tool(slow.tool, { name: "canceled" });
      const left = turn.tool(slow.tool, { name: "left" });
      void left;
      canceled.cancel();
      const codes = await Promise.all(
        [late, canceled].map((call) => call.catch((error: AgentError) => error.code)),
      );
      await first;
      return codes.join(" ");
    },
  });
  const host = new TestHost({ agents: [agent] });
  slow.host = host;
  await host.ask("caller", chat);
  await host.environment.advance(100);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "timeout canceled" });
  await host.environment.advance(1_000);
  expect(notes).toEqual(["+first", "-first", "+left", "-left"]);
  await host.ask("caller", { ...chat, request_id: "again" });
  expect(notes.at(-1)).toBe("+first");
});

test("completions of a model wait for its slots, also again before another attempt", async () => {
  const notes: string[] = [];
  const process: { host?: TestHost } = {};
  const model: Model = {
    name: "small",
    concurrency: 1,
    async *generate(input, { attempt }) {
      notes.push(`${input as string} ${attempt}`);
      await process.host?.pause(100);
      if (input === "a" && attempt === 1) throw new ModelError("busy", { code: "model_unavailable" });
      yield { type: "result", result: input, usage: {} };
    },
  };
  const agent = defineAgent({
    name: "thinker",
    purpose: "Asks a model twice at once.",
    async chat(_input, turn) {
      const asks = ["a", "b"].map((input) => turn.complete({ model, input }));
      return ((await Promise.all(asks)) as string[]).join(" ");
    },
  });
  const host = new TestHost({ agents: [agent] });
  process.host = host;
  await host.ask("thinker", chat);
  expect(notes).toEqual(["a 1"]);
  await host.environment.advance(100);
  expect(notes).toEqual(["a 1", "b 1"]);
  await host.restart();
  await host.environment.advance(2_000);
  expect(notes.toSorted()).toEqual(["a 1", "a 2", "b 1", "b 2"]);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ result: "a b" });
  expect(host.environment.timers).toBe(0);
  expect(textsOf(events)).toEqual([]);
});

test.each([
  [{ concurrency: 0 }, /the concurrency of tool odd is 0; use a whole number, 1 or more/],
  [{ concurrency: 1.5 }, /the concurrency of tool odd is 1.5/],
  [{ rate: 5 }, /the rate of tool odd is 5; use an object/],
  [{ rate: { limit: 0, perMs: 10 } }, /the rate.limit of tool odd is 0/],
  [{ rate: { limit: 1, perMs: 0 } }, /the rate.perMs of tool odd is 0/],
])("the wrong limits %j are an error that names the tool", (options, message) => {
  const run = (): number => 1;
  const define = (): unknown =>
    defineTool({ name: "odd", description: "", input: nothing, run, ...(options as QueueOptions) });
  expect(define).toThrow(message);
  expect(define).toThrow(AgentError);
});

test("an agent has no limits of a tool", () => {
  const options = { name: "odd", purpose: "Odd.", chat: () => "", concurrency: 2 };
  expect(() => defineAgent(options)).toThrow(
    /agent odd has the option concurrency, which is for tools and models/,
  );
});
