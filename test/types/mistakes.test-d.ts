import { createRuntime, defineAgent, defineTool, fromMachine, operation, tellActor, topic } from "troupe";
import type { Runtime, Turn } from "troupe";
import { createClient, createTopicClient, remoteAgent } from "troupe/client";
import { setup } from "xstate";
import { z } from "zod";

// Only type-checked. Each mistake is refused, and the error has the words in front of the colon. `mistakes.test.ts` checks both.

declare const turn: Turn;
declare const runtime: Runtime;

const till = defineAgent({
  name: "till",
  purpose: "Takes money.",
  messages: { note: z.object({ text: z.string() }) },
  operations: (own) => ({
    pay: own({
      input: z.object({ amount: z.number() }),
      run: ({ amount }) => ({ paid: amount }),
    }),
    total: own({ read: true, input: z.object({}), run: () => 0 }),
  }),
});

const search = defineTool({
  name: "search",
  description: "Finds a page.",
  input: z.object({ query: z.string() }),
  run: ({ query }) => ({ page: query }),
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Uses the till.",
  uses: { till, search },
  chat: () => "",
});

const noText = (text: string): string => text;

const machine = setup({
  types: {
    context: {} as { readonly coins: number },
    events: {} as
      | { readonly type: "insert"; readonly coins: number }
      | { readonly type: "turn"; readonly way?: "left" | "right" },
  },
}).createMachine({ context: { coins: 0 }, initial: "shut", states: { shut: {} } });

const gate = fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  operations: { insert: operation({}), turn: operation({}) },
});

// --- Operations ---

// @ts-expect-error "refund": the agent has no such operation.
await runtime.actor(till, "a").ask("refund", {});
// @ts-expect-error "refund": nor for a runtime.
await runtime.ask(till, "refund", {});
// @ts-expect-error "refund": nor for a turn that asks.
await turn.ask(turn.actor(till, "a"), "refund", {});
// @ts-expect-error "refund": nor at a time.
await turn.schedule(turn.actor(till, "a"), "refund", {}, { afterMs: 1 });

// --- Messages ---

// @ts-expect-error "notes": the agent has neither such an operation nor such a message.
await runtime.actor(till, "a").tell("notes", { text: "x" });
// @ts-expect-error 'number' is not assignable to type 'string': the text of a note.
await turn.tell(turn.actor(till, "a"), "note", { text: 1 });
// @ts-expect-error "note": a message cannot be asked.
await turn.ask(turn.actor(till, "a"), "note", { text: "x" });

// --- Inputs ---

// @ts-expect-error Property 'amount' is missing: what is paid.
await runtime.actor(till, "a").ask("pay", {});
// @ts-expect-error 'string' is not assignable to type 'number': what is paid.
await runtime.actor(till, "a").tell("pay", { amount: "1" });
// @ts-expect-error 'amout' does not exist: a field that the operation does not have.
await turn.call(till, "pay", { amount: 1, amout: 1 });

// --- Outputs ---

// @ts-expect-error 'sum' does not exist: a field that the output does not have.
export const { sum } = await runtime.actor(till, "a").ask("pay", { amount: 1 });
// @ts-expect-error 'number' is not assignable to type 'string': the output of another type.
export const total: string = await turn.ask(turn.actor(till, "a"), "total", {});
// @ts-expect-error 'paid' does not exist: a tell has no output.
export const { paid } = await turn.tell(turn.actor(till, "a"), "pay", { amount: 1 });

// --- Events of a machine ---

fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error NoSuchEvent<"insert" | "turn">: the machine has no such event.
  operations: { push: operation({}) },
});
fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error FieldsOfEvent<"insert": the schema gives a text for a number.
  operations: { insert: operation({ input: z.object({ coins: z.string() }) }) },
});
// @ts-expect-error 'string' is not assignable to type 'number': a field of the event.
await turn.ask(turn.actor(gate, "a"), "insert", { coins: "1" });
fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error 'number' is not assignable to parameter of type 'string': the coins of the context.
  reads: { coins: ({ context: { coins } }) => noText(coins) },
});

fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error NoSuchEvent<"insert" | "turn">: the machine has no such event for a message.
  messages: { push: z.object({}) },
});
fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error FieldsOfEvent<"insert": the body of a message gives a text for a number.
  messages: { insert: z.object({ coins: z.string() }) },
});
fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  // @ts-expect-error FieldsOfEvent<"insert": a message without a body lacks the coins.
  messages: { insert: z.null() },
});
const slot = fromMachine({
  name: "slot",
  purpose: "Takes coins.",
  machine,
  operations: { turn: operation({}) },
  messages: { insert: z.object({ coins: z.number() }) },
});
// @ts-expect-error 'string' is not assignable to type 'number': the coins of a message.
await runtime.actor(slot, "a").tell("insert", { coins: "1" });
// @ts-expect-error "insert": a message of a machine cannot be asked.
await runtime.actor(slot, "a").ask("insert", { coins: 1 });

// --- Remote agents ---

const far = remoteAgent<typeof till>("https://example.test/till");
// @ts-expect-error "refund": the agent elsewhere has no such operation.
await turn.ask(turn.actor(far, "a"), "refund", {});
// @ts-expect-error Property 'amount' is missing: what is paid elsewhere.
await turn.call(far, "pay", {});
// @ts-expect-error "notes": the agent elsewhere has no such message.
tellActor(far, "notes");
// @ts-expect-error "refund": the agent of a server has no such operation.
createClient("https://example.test").agent<typeof till>("till").call("refund", {});

// --- Schedules ---

defineAgent({
  name: "night",
  purpose: "Works at night.",
  operations: (own) => ({ close: own({ input: z.object({ day: z.string() }), run: () => null }) }),
  // @ts-expect-error NoSuchOperation<"chat" | "close">: the agent has no such operation.
  schedules: { daily: { cron: "0 0 * * *", operation: "clos", input: { day: "today" } } },
});
defineAgent({
  name: "night",
  purpose: "Works at night.",
  operations: (own) => ({ close: own({ input: z.object({ day: z.string() }), run: () => null }) }),
  // @ts-expect-error Property 'input' is missing: the operation needs one.
  schedules: { daily: { cron: "0 0 * * *", operation: "close" } },
});
fromMachine({
  name: "gate",
  purpose: "Lets people pass.",
  machine,
  operations: { turn: operation({}) },
  // @ts-expect-error NoSuchOperation<"chat" | "turn">: the machine has no such operation.
  schedules: { daily: { cron: "0 0 * * *", operation: "close" } },
});

// --- Supervision ---

const watched = { name: "boss", purpose: "Supervises.", chat: () => "" };
// @ts-expect-error resume: a supervisor escalates or stops; people resume.
defineAgent({ ...watched, supervise: { on: "error", then: "resume" } });
// @ts-expect-error then: what follows the last failure is missing.
defineAgent({ ...watched, supervise: { on: "error" } });
// @ts-expect-error attempts: how often it is tried is missing.
defineAgent({ ...watched, supervise: { on: "error", restart: { withinMs: 1 }, then: "stop" } });

// --- Topics ---

const prices = topic("prices", { messages: { changed: z.object({ value: z.number() }) } });
// @ts-expect-error "fell": nothing is published under this name.
await turn.publish(prices, "fell", { value: 1 });
// @ts-expect-error Type 'string' is not assignable to type 'number': the body is of another type.
await turn.publish(prices, "changed", { value: "1" });
// @ts-expect-error "fell": nothing is published under this name.
await turn.subscribe(prices, "fell");
// @ts-expect-error "fell": nothing is published under this name.
await runtime.publish(prices, "fell", { value: 1 });
// @ts-expect-error Type 'string' is not assignable to type 'number': the body is of another type.
await createTopicClient("https://example.test").publish(prices, "changed", { value: "1" });
for await (const { name, body } of createTopicClient("https://example.test").subscribe(prices))
  // @ts-expect-error Property 'text' does not exist: the body has other fields.
  noText(name + body.text);

// --- Bindings ---

// @ts-expect-error no agent uses another one as serch: a name that no agent uses.
createRuntime({ agents: [clerk], bind: { serch: search } });
// @ts-expect-error till: it has no operation total: the replacement lacks one.
createRuntime({ agents: [clerk], bind: { till: gate } });
const other = defineTool({
  name: "search",
  description: "",
  input: z.object({ text: z.string() }),
  run: () => 0,
});
// @ts-expect-error search: its operation: the replacement takes another input.
createRuntime({ agents: [clerk], bind: { search: other } });

// --- What is no mistake ---

await runtime.actor(till, "a").tell("note", { text: "x" });
await turn.ask(turn.actor(gate, "a"), "turn", {});
await turn.ask(turn.actor(gate, "a"), "turn", { way: "left" });
await turn.tell(turn.actor(far, "a"), "note", { text: "x" });
await turn.tell(turn.actor(slot, "a"), "insert", { coins: 1 });
await turn.tell(turn.actor(slot, "a"), "turn", {});
await turn.publish(prices, "changed", { value: 1 });
await turn.subscribe(prices, ["changed"]);
await turn.publish(topic("news"), "anything", [{ text: "x" }]);
await turn.subscribe(topic("news", { retain: 1 }), ["anything", "else"]);
await createTopicClient("https://example.test").publish("news", "anything", { text: "x" });
createRuntime({ agents: [clerk], topics: [prices, topic("news")] });
createRuntime({ agents: [clerk], bind: { search, till: far } });
createRuntime({ agents: [clerk], bind: { till: remoteAgent("https://example.test/till") } });
