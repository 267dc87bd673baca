import { createClient, createConversation } from "troupe/client";
import type { Conversation, ConversationState } from "troupe/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { ticker } from "../../../agents/ticker.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [notebook, payments, ticker] });
});
afterAll(() => server[Symbol.asyncDispose]());

test("texts that are sent one right after the other are turns of one run", async () => {
  const conversation = createConversation(createClient(server.url).agent("notebook"));
  const ended = shows(conversation, ({ view }) => view.turns.at(-1)?.result === "1. milk\n2. bread\n3. salt");
  const sent = ["milk", "bread", "salt"].map((text) => conversation.send(text));
  expect(conversation.state.runId).toBeUndefined();
  await Promise.all(sent);
  await ended;
  const { view, runId, pending, error } = conversation.state;
  expect(view.turns).toHaveLength(3);
  expect(view.runId).toBe(runId);
  expect([pending, error]).toEqual([false, undefined]);
});

test("a question is answered, and a turn canceled", async () => {
  const agent = createClient(server.url).agent<typeof payments>("payments");
  const conversation = createConversation(agent);
  const asked = shows(conversation, ({ view }) => view.status === "waiting");
  await conversation.call("pay", { to: "bob", amount: 3 });
  await asked;
  await expect(conversation.answer({ approved: "perhaps" })).rejects.toMatchObject({ code: "unprocessable" });
  const paid = shows(conversation, ({ view }) => view.turns[0]?.outcome === "success");
  const [wait] = conversation.state.view.waits;
  await conversation.answer({ approved: true });
  await paid;
  // A second click, or a page that shows an old question.
  await expect(conversation.answer({ approved: true })).rejects.toMatchObject({
    code: "conflict",
    message: "no question is open, so there is nothing to answer",
  });
  await expect(conversation.answer({ approved: true }, wait?.waitId)).rejects.toMatchObject({
    code: "conflict",
    message: `question ${wait?.waitId} is not open, so there is nothing to answer`,
  });

  const again = shows(conversation, ({ view }) => view.status === "waiting");
  await conversation.send("pay 3 to eve");
  await again;
  const canceled = shows(conversation, ({ view }) => view.turns[1]?.outcome === "canceled");
  await conversation.cancel();
  await canceled;
});

test("a refusal is shown until the next request", async () => {
  const agent = createClient(server.url).agent<typeof payments>("payments");
  const conversation = createConversation(agent);
  await expect(conversation.call("pay", { to: "", amount: 3 })).rejects.toMatchObject({
    code: "unprocessable",
  });
  expect(conversation.state).toMatchObject({ error: { code: "unprocessable" }, pending: false });
  await conversation.send("hello");
  expect(conversation.state.error).toBeUndefined();
});

test("a conversation is taken up again by the id of its run", async () => {
  const agent = createClient(server.url).agent("notebook");
  const call = agent.chat("milk");
  await call;
  const conversation = createConversation(agent, { runId: await call.runId });
  await shows(conversation, ({ view }) => view.turns.length === 1);
  const ended = shows(conversation, ({ view }) => view.turns.at(-1)?.result === "1. milk\n2. bread");
  await conversation.send("bread");
  await ended;
  expect(conversation.state.view.turns).toHaveLength(2);
});

/** Subscribes until the conversation is as expected. */
async function shows(
  conversation: Conversation,
  isExpected: (state: ConversationState) => boolean,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = conversation.subscribe(() => {
    if (isExpected(conversation.state)) resolve();
  });
  await promise;
  unsubscribe();
}
