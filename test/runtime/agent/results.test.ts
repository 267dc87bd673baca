import { createRuntime, defineAgent, fromMachine, operation } from "troupe";
import type { Agent } from "troupe";
import type { TurnRequest } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";

const none = z.object({});

const counter = defineAgent({
  name: "counter",
  purpose: "Has operations and no chat.",
  operations: {
    count: operation({ input: none, output: z.object({ count: z.number() }), run: () => ({ count: 3 }) }),
    number: operation({ input: none, run: () => 42 }),
    nothing: operation({ input: none, run: () => {} }),
    word: operation({ input: none, run: () => "a word" }),
    loud: operation({
      input: none,
      async run(_input, turn) {
        await turn.text("said aloud");
        return { count: 4 };
      },
    }),
  },
});

const machine = fromMachine({
  name: "machine",
  purpose: "Ends with an object.",
  machine: setup({}).createMachine({
    initial: "end",
    states: { end: { type: "final" } },
    output: { shipped: true },
  }),
});

const chatOf = (name: string, answer: unknown): Agent =>
  defineAgent({ name, purpose: "Returns something.", chat: () => answer as never });

const chat = (input: string): TurnRequest => ({ type: "ChatRequest", input });
const ask = (name: string): TurnRequest => ({ type: "OperationRequest", operation: name, input: {} });

test.each<[string, Agent, TurnRequest, object]>([
  ["an object is its JSON", counter, ask("count"), { result: '{"count":3}', output: { count: 3 } }],
  ["a number is its JSON", counter, ask("number"), { result: "42", output: 42 }],
  ["nothing is null", counter, ask("nothing"), { result: null, output: null }],
  ["a text is that text", counter, ask("word"), { result: "a word", output: "a word" }],
  [
    "an object beside texts is the texts",
    counter,
    ask("loud"),
    { result: "said aloud", output: { count: 4 } },
  ],
  [
    "an object, asked for by a chat, is its JSON",
    counter,
    chat('{"operation": "count", "input": {}}'),
    { result: '{"count":3}', output: { count: 3 } },
  ],
  [
    "an object of a machine that is chatted with is its JSON",
    machine,
    chat("go"),
    { result: '{"shipped":true}', output: { shipped: true } },
  ],
  [
    "a text of a chat is that text alone",
    chatOf("plain", "hello"),
    chat(""),
    { result: "hello", output: null },
  ],
  [
    "a chat's answer in the form of the protocol is its text alone",
    chatOf("formed", { output: "hello" }),
    chat(""),
    { result: "hello", output: null },
  ],
  [
    "an object of a chat is its JSON",
    chatOf("object", { a: 1 }),
    chat(""),
    { result: '{"a":1}', output: { a: 1 } },
  ],
  ["a number of a chat is its JSON", chatOf("number", 7), chat(""), { result: "7", output: 7 }],
  [
    "nothing at all of a chat is the empty text",
    chatOf("silent", undefined),
    chat(""),
    { result: "", output: null },
  ],
])("the result of %s", async (_, agent, request, completed) => {
  const runtime = createRuntime({ agents: [agent] });
  const events = await collect(runtime, agent.name, request);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success", ...completed });
  await runtime.close();
});

test("a call of a machine that ends with an object gets its JSON as text", async () => {
  const boss = defineAgent({
    name: "boss",
    purpose: "Calls the machine.",
    tools: [machine],
    async chat(input, turn) {
      const { output } = await turn.call(machine, "chat", { input });
      return output;
    },
  });
  const runtime = createRuntime({ agents: [boss] });
  expect((await collect(runtime, "boss", chat(""))).at(-1)).toMatchObject({ result: '{"shipped":true}' });
  await runtime.close();
});
