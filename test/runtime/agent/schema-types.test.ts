import { defineAgent, operation } from "troupe";
import type { Event } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

/** Sends one request to an agent and resolves with the end of the turn. */
async function endOf(host: TestHost, agent: string, fields: object = {}): Promise<Event> {
  const { requestId } = await host.ask(agent, { type: "ChatRequest", input: "", ...fields } as never);
  const [end] = ofType(await host.events(requestId), "RequestCompleted");
  if (end === undefined) throw new Error("the turn has not ended");
  return end;
}

/** The error of a failed turn. */
async function faultOf(host: TestHost, agent: string, fields: object = {}): Promise<string> {
  const end = await endOf(host, agent, fields);
  const { code, message } = (end.type === "RequestCompleted" && end.error) || {};
  return `${code}: ${message}`;
}

test("an operation gets its parsed input, and its caller the parsed output", async () => {
  const shop = defineAgent({
    name: "shop",
    purpose: "Sells things.",
    operations: {
      order: operation({
        input: z.object({
          count: z.number().default(2),
          day: z.string().transform((text) => new Date(text)),
        }),
        output: z.object({ total: z.string().transform(Number) }),
        run: ({ count, day }) => ({ total: String(count * day.getUTCDate()) }),
      }),
    },
  });
  const buyer = defineAgent({
    name: "buyer",
    purpose: "Buys things.",
    async chat(_, turn) {
      const { total } = await turn.call(shop, "order", { day: "2026-01-21" });
      return total.toFixed(1);
    },
  });
  const host = new TestHost({ agents: [buyer] });
  expect(await endOf(host, "buyer")).toMatchObject({ finish_reason: "success", result: "42.0" });
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Greets people.",
  config: z.object({
    greeting: z.string().default("Hello"),
    since: z
      .string()
      .transform((text) => new Date(text))
      .optional(),
  }),
  chat: (_, { config }) => `${config.greeting} since ${config.since?.getUTCFullYear() ?? "ever"}`,
});

test("a turn has the parsed configuration", async () => {
  const host = new TestHost({ agents: [clerk] });
  expect(await endOf(host, "clerk")).toMatchObject({ result: "Hello since ever" });
  await host.ask("clerk", { type: "ConfigureRequest", args: { since: "2026-01-31" } });
  expect(await endOf(host, "clerk")).toMatchObject({ result: "Hello since 2026" });
  await host.restart();
  expect(await endOf(host, "clerk")).toMatchObject({ result: "Hello since 2026" });
});

test("a called agent has its own parsed configuration", async () => {
  const boss = defineAgent({
    name: "boss",
    purpose: "Calls the clerk.",
    chat: async (input, turn) => (await turn.call(clerk, "chat", { input })).output,
  });
  const host = new TestHost({ agents: [boss, clerk] });
  await host.ask("clerk", { type: "ConfigureRequest", args: { greeting: "Hi" } });
  expect(await endOf(host, "boss")).toMatchObject({ result: "Hi since ever" });
});

test("a turn of an agent without its required configuration ends with a clear error", async () => {
  const strict = defineAgent({
    name: "strict",
    purpose: "Needs a tone.",
    config: z.object({ tone: z.string() }),
    chat: (_, { config }) => config.tone,
  });
  const host = new TestHost({ agents: [strict] });
  expect(await faultOf(host, "strict")).toMatch(
    /^agent_error: the configuration of strict does not fit: tone: .*; configure the agent/,
  );
  await host.ask("strict", { type: "ConfigureRequest", args: { tone: "warm" } });
  expect(await endOf(host, "strict")).toMatchObject({ result: "warm" });
});

/** An agent that stores a list with a schema. */
function listOf(schema: z.ZodType<{ items: string[] }, { items: string[] } | undefined>) {
  return defineAgent({
    name: "list",
    purpose: "Keeps a list.",
    memorySchema: schema,
    chat(input, turn) {
      const { items } = turn.memory.get();
      turn.memory.set({ items: [...items, input] });
      return turn.memory.get().items.join(" ");
    },
  });
}

test("memory with a schema starts with its default and stores values that fit", async () => {
  const host = new TestHost({
    agents: [listOf(z.object({ items: z.array(z.string()) }).default({ items: [] }))],
  });
  const first = await endOf(host, "list", { input: "one" });
  await host.restart();
  const second = await endOf(host, "list", { input: "two", run_id: first.run_id });
  expect([first, second]).toMatchObject([{ result: "one" }, { result: "one two" }]);
});

test("memory without a default is empty at first and refuses values that do not fit", async () => {
  const counter = defineAgent({
    name: "counter",
    purpose: "Counts.",
    memorySchema: z.number().max(2),
    chat(_, turn) {
      turn.memory.set((turn.memory.get() ?? 0) + 1);
      return String(turn.memory.get());
    },
  });
  const host = new TestHost({ agents: [counter] });
  const first = await endOf(host, "counter");
  const again = (): Promise<Event> => endOf(host, "counter", { run_id: first.run_id });
  expect([first, await again()]).toMatchObject([{ result: "1" }, { result: "2" }]);
  expect(await faultOf(host, "counter", { run_id: first.run_id })).toMatch(
    /^agent_error: the memory of counter does not fit/,
  );
});

test("memory left by an earlier version of the agent that does not fit ends the turn with an error", async () => {
  const host = new TestHost({ agents: [listOf(z.any().transform(() => ({ items: ["old"] })) as never)] });
  const first = await endOf(host, "list", { input: "one" });
  await host.restart([listOf(z.object({ items: z.array(z.string().max(2)) }).default({ items: [] }))]);
  expect(await faultOf(host, "list", { input: "two", run_id: first.run_id })).toMatch(
    /^agent_error: the memory of list does not fit: items.0: /,
  );
});

test("an asynchronous memory schema is refused with the agent's name", async () => {
  const slow = defineAgent({
    name: "slow",
    purpose: "Has a slow schema.",
    memorySchema: z.object({}).refine(async () => true),
    chat: (_, turn) => turn.memory.set({}),
  });
  const host = new TestHost({ agents: [slow] });
  expect(await faultOf(host, "slow")).toMatch(/: the schema of the memory of slow is asynchronous/);
});
