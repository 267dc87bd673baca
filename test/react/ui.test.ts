// The components rendered on a server, from real runs.
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { defineAgent, operation } from "troupe";
import { createClient } from "troupe/client";
import type { RunView } from "troupe/projection";
import { useAgent } from "troupe/react";
import { ActorOutline, ApprovalButtons, ConversationPane, AnswerForm } from "troupe/react/ui";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { payments } from "../../agents/payments.ts";
import { start } from "../client/servers.ts";
import type { Served } from "../client/servers.ts";

const weather = defineAgent({
  name: "weather",
  purpose: "Knows the weather.",
  chat: () => "It snows.",
  operations: {
    look: operation({
      description: "Looks out.",
      input: z.object({ city: z.string() }),
      run: ({ city }) => ({ city, degrees: [-3, 2] }),
    }),
  },
});

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [payments, weather] });
});
afterAll(() => server[Symbol.asyncDispose]());

const answer = async (): Promise<void> => {};

test("a conversation, its question and its actors are rendered on a server", async () => {
  const client = createClient(server.url);
  const call = client.agent("payments").chat("pay 3 to bob");
  const run = client.run(await call.runId);
  for await (const _ of run.events());
  const view = await run.view();
  const Page = (): ReturnType<typeof ConversationPane> => {
    const conversation = useAgent(client.agent("payments"));
    return h(ConversationPane, { conversation: { ...conversation, view, status: "waiting" } });
  };
  const page = renderToString(h(Page));
  expect(page).toContain("pay 3 to bob");
  expect(page).toContain("Pay 3 to bob?");
  expect(page).toMatch(/<button type="button">Yes<\/button>.*Stop/);
  expect(renderToString(h(ActorOutline, { view }))).toMatch(/<li data-outcome="running">payments/);
});

test("what a turn returns is shown as formatted JSON, and a text once", async () => {
  const client = createClient(server.url);
  const Page = (view: RunView): string => {
    const Inner = (): ReturnType<typeof ConversationPane> => {
      const conversation = useAgent(client.agent("weather"));
      return h(ConversationPane, { conversation: { ...conversation, view } });
    };
    return renderToString(h(Inner));
  };
  const look = client.agent("weather").call("look", { city: "Oslo" });
  await look;
  const looked = Page(await client.run(await look.runId).view());
  expect(looked).toContain(
    '<pre class="troupe-output">{\n  &quot;city&quot;: &quot;Oslo&quot;,\n  &quot;degrees&quot;: [\n    -3,\n    2\n  ]\n}</pre>',
  );
  const said = client.agent("weather").chat("and now?");
  await said;
  expect(Page(await client.run(await said.runId).view()).split("It snows.")).toHaveLength(2);
});

test("a question is a form of its schema", () => {
  const wait = {
    waitId: 1,
    questions: { to: "Who gets it?", how: "How?" },
    schema: {
      type: "object",
      properties: {
        to: { type: "string" },
        amount: { type: "integer", description: "How much" },
        how: { enum: ["card", "cash"] },
        more: { type: "object" },
      },
      required: ["to"],
    },
  };
  const form = renderToString(h(AnswerForm, { wait, answer }));
  expect(form).toContain("Who gets it?");
  expect(form).toMatch(/How much.*type="number"/);
  expect(form).toMatch(/<option value="1">cash/);
  expect(form).toContain("<textarea");
  expect(renderToString(h(ApprovalButtons, { wait, answer }))).toBe(form);
});
