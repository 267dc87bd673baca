import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import { remoteAgent } from "troupe/client";
import { llmAgent, scriptedModel } from "troupe/llm";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";

/** What a program in JavaScript may pass: anything. */
const anything = (value: unknown): never => value as never;

const echo = defineAgent({ name: "echo", purpose: "Repeats a text.", chat: (text) => text });
const jsonSchema = { type: "object", properties: { to: { type: "string" } } };
const model = scriptedModel(["done"]);
const run = (): string => "done";

function sendWith(input: unknown) {
  return defineTool({ name: "send", description: "Sends.", input: anything(input), run });
}

function agentWith(options: object) {
  return defineAgent({ name: "boss", purpose: "Decides.", chat: () => "", ...options });
}

test.each([
  [
    "a JSON Schema as a tool's input",
    () => sendWith(jsonSchema),
    "the input of tool send is a JSON Schema: use ",
  ],
  ["no input of a tool", () => sendWith(undefined), "the input of tool send is missing: use "],
  ["a text as a tool's input", () => sendWith("text"), "the input of tool send is not a schema: use "],
  [
    "a JSON Schema as a tool's output",
    () =>
      defineTool({ name: "send", description: "", input: z.object({}), output: anything(jsonSchema), run }),
    "the output of tool send is a JSON Schema: use ",
  ],
  [
    "a tool without a function",
    () => defineTool({ name: "send", description: "", input: z.object({}), run: anything(undefined) }),
    "tool send has no function run",
  ],
  [
    "a JSON Schema as an operation's input",
    () => agentWith({ operations: { pay: operation({ input: anything(jsonSchema), run }) } }),
    "the input of operation pay of agent boss is a JSON Schema: use ",
  ],
  [
    "an operation without a function",
    () => agentWith({ operations: { pay: { input: z.object({}) } } }),
    "operation pay of agent boss has no function run",
  ],
  [
    "a chat that is no function",
    () => agentWith({ chat: "hello" }),
    "the chat of agent boss is not a function",
  ],
  [
    "a JSON Schema as a configuration",
    () => agentWith({ config: jsonSchema }),
    "the config of agent boss is a JSON Schema: use ",
  ],
  [
    "a memory schema that is none",
    () => agentWith({ memorySchema: [] }),
    "the memorySchema of agent boss is not a schema: use ",
  ],
  ["no name", () => agentWith({ name: undefined }), "undefined is not a valid agent name: "],
  ["no purpose", () => agentWith({ purpose: undefined }), "agent boss has no purpose"],
  [
    "a tool that is undefined",
    () => agentWith({ tools: [echo, undefined] }),
    "tools[1] of agent boss is undefined",
  ],
  [
    "a hand-made agent among those that it uses",
    () => agentWith({ uses: { helper: { name: "helper" } } }),
    'uses.helper of agent boss ("helper") is not an agent: ',
  ],
  [
    "a hand-made agent",
    () => createRuntime({ agents: [echo, anything({ name: "pirate", operations: {} })] }),
    'agents[1] of the runtime ("pirate") is not an agent: use the object that defineAgent, ',
  ],
  [
    "a copy of an agent",
    () => createRuntime({ agents: [{ ...echo, name: "not a name" }] }),
    'agents[0] of the runtime ("not a name") is not an agent: ',
  ],
  [
    "a hand-made agent in the place of another",
    () => createRuntime({ agents: [echo], bind: { echo: anything({ name: "pirate" }) } }),
    'bind.echo of the runtime ("pirate") is not an agent: ',
  ],
  [
    "a directory in place of a log",
    () => createRuntime({ agents: [echo], log: anything("data") }),
    "the log of the runtime is not an event log: use sqliteLog(directory) or memoryLog()",
  ],
  [
    "a number in place of a model",
    () => llmAgent({ name: "weather", purpose: "", instructions: "", model: anything(7) }),
    "the model of agent weather is not a model",
  ],
  [
    "no instructions",
    () => llmAgent({ name: "weather", purpose: "", instructions: anything(undefined), model }),
    "the instructions of agent weather are neither a text nor a function",
  ],
  [
    "one agent in place of a list",
    () => createRuntime({ agents: anything(echo) }),
    "a runtime needs a list of ",
  ],
  ["no list of agents", () => createRuntime(anything({})), "a runtime needs a list of at least one agent"],
  [
    "a tool of the AI SDK in a list",
    () =>
      llmAgent({
        name: "weather",
        purpose: "",
        instructions: "",
        model,
        tools: [anything({ execute: run })],
      }),
    "tools[0] of agent weather is not an agent: ",
  ],
  [
    "an agent that is none for a model",
    () => llmAgent({ name: "weather", purpose: "", instructions: "", model, agents: [anything(model)] }),
    "agents[0] of agent weather",
  ],
])("%s is refused where it is written", (_, define, message) => {
  expect(define).toThrow(expect.objectContaining({ code: "invalid_request" }));
  expect(define).toThrow(message);
});

test("agents of every kind are served", async () => {
  const tool = sendWith(z.object({}));
  const runtime = createRuntime({ agents: [echo, remoteAgent("http://127.0.0.1:9/far"), tool] });
  expect(runtime.agents).toEqual(["echo", "far", "send"]);
  await runtime.close();
});

test.each([
  ["call", 'the agent of turn.call ("pirate") is not an agent'],
  ["waitForInput", "turn.waitForInput needs a schema, or a text for each requested value"],
  ["waitForInput with a name", 'cannot ask for "constructor": no request may have such a key'],
])("turn.%s says what is wrong with what it was given", async (name, message) => {
  const careless = defineAgent({
    name: "careless",
    purpose: "Passes on what it should not.",
    async chat(_, turn) {
      if (name === "call") await turn.call(anything({ name: "pirate" }), anything("chat"), anything({}));
      else await turn.waitForInput(name === "waitForInput" ? anything(jsonSchema) : { constructor: "Who?" });
    },
  });
  const runtime = createRuntime({ agents: [careless] });
  const [end] = ofType(
    await collect(runtime, "careless", { type: "ChatRequest", input: "" }),
    "RequestCompleted",
  );
  expect(end?.error?.message).toContain(message);
  await runtime.close();
});

test("two things that a model would call by one name are refused with both", () => {
  const bank = defineAgent({
    name: "bank",
    purpose: "Pays.",
    operations: {
      pay: operation({ input: z.object({}), run }),
      ask: operation({ input: z.object({}), run }),
    },
  });
  const pay = defineTool({ name: "bank__pay", description: "Pays too.", input: z.object({}), run });
  const far = remoteAgent("http://127.0.0.1:9/bank");
  const rich = { name: "rich", purpose: "Pays.", instructions: "", model };
  expect(() => llmAgent({ ...rich, tools: [pay], agents: [bank] })).toThrow(
    "tool bank__pay and operation pay of agent bank have the same name for a model: bank__pay",
  );
  expect(() => llmAgent({ ...rich, tools: [pay], agents: [far] })).toThrow(
    "remote agent bank and tool bank__pay have the same name for a model: bank__pay",
  );
});
