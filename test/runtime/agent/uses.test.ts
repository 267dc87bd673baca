import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Agent, Turn } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, theOne } from "../../agents/events.ts";

const query = z.object({ query: z.string() });
const hits = z.object({ hits: z.array(z.string()) });

const search = defineTool({
  name: "search",
  description: "Finds what is in a small index.",
  input: query,
  output: hits,
  run: ({ query }) => ({ hits: [`${query} in the index`] }),
});

const librarian = defineAgent({
  name: "librarian",
  purpose: "Finds things by asking around.",
  operations: {
    search: operation({
      input: query,
      output: hits,
      async run({ query }, turn) {
        await turn.text("Let me see.");
        return { hits: [`${query} on the shelf`] };
      },
    }),
    lend: operation({ input: query, run: () => ({}) }),
  },
});

const uses = { search };

const reporter = defineAgent({
  name: "reporter",
  purpose: "Reports what was found.",
  uses,
  async chat(input, turn) {
    const { hits } = await turn.call(turn.uses.search, "search", { query: input });
    await turn.text(hits.join());
  },
  operations: {
    report: operation({
      input: query,
      async run(input, turn: Turn<typeof uses>) {
        return turn.tool(turn.uses.search, input);
      },
    }),
  },
});

test("an agent calls the agents it uses by its own names for them", async () => {
  const events = await ask({}, { type: "ChatRequest", input: "moss" });
  expect(theOne(events, "ToolCall")).toMatchObject({
    function_name: "search",
    agent: "reporter",
    callee: { kind: "tool", name: "search" },
  });
  expect(events.at(-1)).toMatchObject({ result: "moss in the index" });
});

test("another agent replaces a tool without a change of the caller", async () => {
  const events = await ask({ search: librarian }, { type: "ChatRequest", input: "moss" });
  expect(theOne(events, "ToolCall")).toMatchObject({
    function_name: "search",
    agent: "reporter",
    callee: { kind: "agent", name: "librarian" },
  });
  expect(ofType(events, "TextOutput").map(({ agent, content }) => [agent, content])).toEqual([
    ["librarian", "Let me see."],
    ["reporter", "moss on the shelf"],
  ]);
});

test("a tool call stays the tool's operation when an agent replaces the tool", async () => {
  const request = { type: "OperationRequest", operation: "report", input: { query: "moss" } } as const;
  expect((await ask({ search: librarian }, request)).at(-1)).toMatchObject({
    output: { hits: ["moss on the shelf"] },
  });
});

test("the description of an agent names the replacement", async () => {
  const runtime = createRuntime({ agents: [reporter], bind: { search: librarian } });
  expect(runtime.describe("reporter").tools).toEqual(["librarian"]);
  await runtime.close();
});

test("a replacement without a required operation is refused at the start", () => {
  const dumb = defineAgent({ name: "dumb", purpose: "Cannot search.", chat: () => "no" });
  expect(() => createRuntime({ agents: [reporter], bind: { search: dumb } })).toThrow(
    "agent reporter uses search, but dumb has no operation search",
  );
});

test("a binding of an unused name is refused at the start", () => {
  expect(() => createRuntime({ agents: [reporter], bind: { serch: librarian as never } })).toThrow(
    "bind names serch, but no agent uses it",
  );
});

async function ask(
  bind: { readonly [name: string]: Agent },
  request: Parameters<typeof collect>[2],
): ReturnType<typeof collect> {
  const runtime = createRuntime({ agents: [reporter], bind });
  try {
    return await collect(runtime, "reporter", request);
  } finally {
    await runtime.close();
  }
}
