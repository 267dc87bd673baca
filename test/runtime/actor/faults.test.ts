import { AgentError, createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Agent, Turn } from "troupe";
import type { RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

function agentOf(chat: (input: string, turn: Turn) => unknown): Agent {
  return defineAgent({ name: "agent", purpose: "Does as the test says.", chat: chat as never });
}

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

const noJson: readonly (readonly [string, unknown])[] = [
  ["a cyclic value", cyclic],
  ["a BigInt", { big: 1n }],
  [
    "a value whose toJSON throws",
    {
      toJSON() {
        throw new Error("no JSON from me");
      },
    },
  ],
  [
    "a value whose getter throws",
    {
      get field() {
        throw new Error("no field for you");
      },
    },
  ],
];

test("an agent that throws ends its turn with an error, and the next turn of the run starts", async () => {
  const agent = agentOf(async (input, turn) => {
    if (input === "throw") throw new Error("I cannot go on");
    await turn.text("I'll go on.");
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("agent", { ...chat, input: "throw" });
  await host.ask("agent", { type: "ChatRequest", input: "", run_id: runId } as never);

  const events = await host.events(runId ?? "");
  expect(ofType(events, "RequestCompleted")).toMatchObject([
    { finish_reason: "error", result: null, error: { code: "agent_error", message: "I cannot go on" } },
    { finish_reason: "success", result: "I'll go on." },
  ]);
});

test("an error message contains neither a stack nor local paths", async () => {
  const agent = agentOf(() => {
    throw new Error("cannot read /etc/secrets/key.pem\n    at read (/srv/app/agent.js:1:1)");
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    error: { code: "agent_error", message: "cannot read [path]" },
  });
});

test("code that fails outside any call ends the turn that it belongs to", async () => {
  const agent = agentOf((_input, turn) => turn.waitForInput({ name: "Your name?" }));
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("agent", chat);
  if (runId) host.runtime.crash({ runId, requestId: asked }, "a timer threw");
  await host.environment.idle();
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_crashed", message: "a timer threw" },
  });
});

test.each(noJson)("an operation that returns %s ends its turn with an error", async (_what, value) => {
  const agent = defineAgent({
    name: "agent",
    purpose: "Returns what JSON cannot hold.",
    operations: { run: operation({ input: z.object({}), run: () => value }) },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", {
    type: "OperationRequest",
    operation: "run",
    input: {},
    request_id: asked,
  });
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error" },
  });
});

test.each(noJson)(
  "a tool or an effect that returns %s fails, and its caller continues",
  async (_what, value) => {
    const tool = defineTool({
      name: "broken",
      description: "Returns what JSON cannot hold.",
      input: z.object({}),
      run: () => value,
    });
    const agent = agentOf(async (_input, turn) => {
      await turn.tool(tool, {}).catch(() => {});
      await turn.effect("broken_too", () => value as never).catch(() => {});
      return "I go on.";
    });
    const host = new TestHost({ agents: [agent] });
    await host.ask("agent", chat);

    const events = await host.events(asked);
    expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(["tool_error", "tool_error"]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "I go on." });
  },
);

test("only input that does not fit is reported as invalid input", async () => {
  const picky = defineTool({
    name: "picky",
    description: "Takes small numbers.",
    input: z.object({ number: z.number().max(3) }),
    run({ number }) {
      if (number === 2) throw new AgentError("unprocessable", "not this one");
      return number;
    },
  });
  const agent = agentOf(async (_input, turn) => {
    for (const number of [1, 2, 4]) await turn.tool(picky, { number }).catch(() => {});
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  expect(ofType(await host.events(asked), "ToolError").map(({ code }) => code)).toEqual([
    "tool_error",
    "invalid_input",
  ]);
});

test("a text that is too large is refused at once and does not affect the turn's continuation", async () => {
  const agent = agentOf(async (_input, turn) => {
    try {
      await turn.text("x".repeat(300_000));
    } catch (error) {
      await turn.text(error instanceof AgentError ? error.code : "");
    }
    await turn.sleep(1_000);
    await turn.text(" and on");
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  await host.restart();
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "too_large and on" });
});

test("a call with an argument that is too large or not JSON is refused and does not affect the continuation", async () => {
  const tool = defineTool({
    name: "take",
    description: "Takes anything.",
    input: z.unknown(),
    run: () => "taken",
  });
  const agent = agentOf(async (_input, turn) => {
    for (const input of [cyclic, "x".repeat(300_000), "small"]) {
      await turn.tool(tool, input).catch((error: unknown) => {
        if (!(error instanceof AgentError)) throw error;
      });
    }
    await turn.sleep(1_000);
    return "done";
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  await host.restart();
  await host.environment.advance(1_000);
  const events = await host.events(asked);
  expect(ofType(events, "ToolCall")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ result: "done" });
});

test("an agent cannot change the logged request that its continuation sees", async () => {
  const agent = defineAgent({
    name: "agent",
    purpose: "Spoils what it is given.",
    operations: {
      run: operation({
        input: z.custom<{ list: number[] }>(),
        async run(given, turn) {
          const { list } = turn.request.input as unknown as { list: number[] };
          const { tags } = turn.metadata as unknown as { tags: string[] };
          await turn.text(JSON.stringify([given.list, list, tags]));
          given.list.push(9);
          list.push(9);
          tags.push("spoilt");
          await turn.waitForInput({ on: "Shall I go on?" });
        },
      }),
    },
  });
  // A memory log stores objects as they are, and the turn leaves memory while it waits.
  const runtime = createRuntime({ agents: [agent], limits: { idleRuns: 0 } });
  const input = { list: [1] };
  const asked = await collect(runtime, "agent", {
    type: "OperationRequest",
    operation: "run",
    input,
    request_metadata: { tags: ["new"] },
  });
  const answer = { type: "ResumeWithInput", request_keys: { on: true } } as const;
  const rest = await collect(runtime, "agent", { ...answer, request_id: asked[0]?.request_id as RequestId });
  expect(textsOf(asked)).toEqual(['[[1],[1],["new"]]']);
  expect(rest.at(-1)).toMatchObject({ finish_reason: "success" });
  expect(input).toEqual({ list: [1] });
  await runtime.close();
});
