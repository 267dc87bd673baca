import { createRuntime, defineTool, memoryLog } from "troupe";
import type { Model, Tool } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { LlmStep, ModelSettings, Prompt } from "troupe/llm";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, theOne } from "../agents/events.ts";
import { asked, chat as chatRequest, TestHost } from "../runtime/test-host.ts";
import { chat } from "./chat.ts";

const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief." };

function tool(name: string): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input: z.object({}),
    effect: "idempotent",
    run: () => `${name} is done`,
  });
}

/** A model that notes its prompts, calls the tool `read` first and then answers. */
function noting(name: string, prompts: Prompt[]): Model {
  return scriptedModel(
    (prompt) => {
      prompts.push(prompt);
      const isFirst = prompt.messages.at(-1)?.role !== "tool";
      return isFirst ? { toolCalls: [{ name: "read", input: {} }] } : `${name} has read.`;
    },
    { name },
  );
}

function toolsIn({ tools }: Prompt): readonly string[] {
  return tools.map(({ name }) => name);
}

test("the model and the tools of a turn are chosen by its configuration, and the choice is in the log", async () => {
  const prompts: Prompt[] = [];
  const models = { small: noting("small", prompts), large: noting("large", prompts) };
  const agent = llmAgent({
    ...plain,
    config: z.object({ plan: z.enum(["small", "large"]).default("small") }),
    model: (turn) => models[turn.config.plan],
    tools: async (turn) => (turn.config.plan === "large" ? [tool("read"), tool("write")] : [tool("read")]),
    approve: { write: true },
  });
  const runtime = createRuntime({ agents: [agent] });
  const small = await collect(runtime, "clerk", { type: "ChatRequest", input: "one" });
  await runtime.process("clerk", { type: "ConfigureRequest", args: { plan: "large" } });
  const large = await collect(runtime, "clerk", { type: "ChatRequest", input: "two" });
  await runtime.close();
  expect([small, large].map((events) => events.at(-1))).toMatchObject([
    { result: "small has read." },
    { result: "large has read." },
  ]);
  expect(prompts.map(toolsIn)).toEqual([["read"], ["read"], ["read", "write"], ["read", "write"]]);
  expect(ofType(large, "ToolResult")[0]).toMatchObject({
    result: { model: "large", tools: ["read", "write"] },
  });
});

test("a turn that continues after a crash keeps to the tools that were chosen for it", async () => {
  const prompts: Prompt[] = [];
  const reading = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<string>();
  const slow = defineTool({
    name: "read",
    description: "Reads.",
    input: z.object({}),
    effect: "idempotent",
    run: () => {
      reading.resolve();
      return gate.promise;
    },
  });
  const agentWith = (...tools: readonly Tool[]) =>
    llmAgent({ ...plain, model: () => noting("small", prompts), tools: () => tools });
  const host = new TestHost({ agents: [agentWith(slow, tool("write"))] });
  await host.ask("clerk", chatRequest);
  await reading.promise;
  host.crash();
  await host.restart([agentWith(tool("write"), tool("erase"), tool("read"))]);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "small has read." });
  expect(prompts.map(toolsIn)).toEqual([
    ["read", "write"],
    ["write", "read"],
  ]);
});

test("settings can differ from step to step, for example to make the model call a tool first", async () => {
  const seen: (ModelSettings | undefined)[] = [];
  const steps: number[] = [];
  const model = scriptedModel((prompt) => {
    seen.push(prompt.settings);
    return prompt.messages.at(-1)?.role === "tool" ? "Done." : { toolCalls: [{ name: "read", input: {} }] };
  });
  const settings = ({ number, messages, turn }: LlmStep): ModelSettings => {
    steps.push(number, messages.length);
    return { temperature: 0, toolChoice: number === 1 ? "required" : "auto", seed: turn.agent.length };
  };
  const events = await chat(llmAgent({ ...plain, model, tools: [tool("read")], settings }));
  expect(events.at(-1)).toMatchObject({ result: "Done." });
  expect(steps).toEqual([1, 1, 2, 3]);
  expect(seen).toEqual([
    { temperature: 0, toolChoice: "required", seed: 5 },
    { temperature: 0, toolChoice: "auto", seed: 5 },
  ]);
});

test("settings that stay the same are an object, and instructions can be a list with options of the provider", async () => {
  const prompts: Prompt[] = [];
  const model: Model = {
    name: "mine",
    async *generate(input) {
      prompts.push(input as unknown as Prompt);
      yield { type: "result", result: { text: "Yes.", toolCalls: [] }, usage: {} };
    },
  };
  const cache = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const instructions = [{ content: "Be brief.", providerOptions: cache }, { content: "Today is Monday." }];
  await chat(llmAgent({ ...plain, instructions: () => instructions, model, settings: { cache } }));
  expect(prompts).toMatchObject([{ instructions, settings: { cache } }]);
});

test("a function that chooses something that is no model ends the turn with the reason", async () => {
  const agent = llmAgent({ ...plain, model: () => undefined as never });
  const runtime = createRuntime({ agents: [agent], log: memoryLog() });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "one" });
  await runtime.close();
  expect(theOne(events, "RequestCompleted")).toMatchObject({
    finish_reason: "error",
    error: { message: "the model of agent clerk is not a model" },
  });
});
