import { createClient, createConversation } from "troupe/client";
import type { AgentCall, Client, Conversation, ConversationState } from "troupe/client";
import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { beginTurn, createClerk } from "../agents/clerk.ts";
import type { Clerk } from "../agents/clerk.ts";
import { start } from "./servers.ts";
import type { Served } from "./servers.ts";

interface Held extends AsyncDisposable {
  readonly clerk: Clerk;
  readonly server: Served;
  readonly client: Client;
  readonly call: AgentCall<unknown>;
  readonly runId: RunId;
}

/** A turn that is held since the first of its two questions was answered. */
async function holdTurn(): Promise<Held> {
  const clerk = createClerk();
  const { log, requestId, runId } = await beginTurn(clerk);
  clerk.isChanged = true;
  const server = await start({ agents: [clerk.agent], log });
  const client = createClient(server.url);
  const call = client.request(requestId);
  await expect(call).rejects.toMatchObject({ code: "waiting", waits: [{}, {}] });
  await call.waits[0]?.answer({ name: "Ada" });
  return { clerk, server, client, call, runId, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("a call whose turn is held waits for its answers and for fitting code, and a retry continues it", async () => {
  await using held = await holdTurn();
  const { clerk, client, call, runId } = held;
  await expect(call).rejects.toMatchObject({
    code: "waiting",
    waits: [{ questions: { colour: "What is your favourite colour?" } }],
  });
  expect(await client.runs({ status: "held" })).toMatchObject({ runs: [{ run_id: runId }] });
  await call.waits[0]?.answer({ colour: "blue" });
  expect((await call.view()).turns[0]).toMatchObject({ held: { code: "nondeterministic" } });
  clerk.isChanged = false;
  await client.run(runId).retry();
  await expect(call).resolves.toBe("Ada likes blue.");
  expect((await call.view()).turns[0]).toMatchObject({ result: "Ada likes blue.", held: undefined });
  await expect(client.run(runId).retry()).rejects.toMatchObject({ code: "conflict" });
});

test("a conversation shows that its turn is held and why, until an operator ends it", async () => {
  await using held = await holdTurn();
  const { client, runId } = held;
  const conversation = createConversation(client.agent("clerk"), { runId });
  const { held: reason, pending } = await shows(conversation, (state) => state.held !== undefined);
  expect(reason).toMatchObject({ code: "nondeterministic", found: 'text "One moment."' });
  expect(reason?.at).toMatch(/clerk\.ts:\d+$/);
  expect(pending).toBe(false);
  await conversation.answer({ colour: "blue" });
  await shows(conversation, (state) => state.pending);

  const end = await client.run(runId).end();
  expect(end).toMatchObject({ type: "RequestCompleted", error: { code: "nondeterministic" } });
  const ended = await shows(conversation, ({ view }) => view.turns[0]?.outcome === "error");
  expect(ended.held).toBeUndefined();
  await expect(client.run(runId).end()).rejects.toMatchObject({ code: "conflict" });
});

test("an agent whose turn is held on another server may say nothing for longer than its limit", async () => {
  const clerk = createClerk();
  const { log, requestId } = await beginTurn(clerk);
  clerk.isChanged = true;
  await using there = await start({ agents: [clerk.agent], log });
  let looked = 0;
  const looks = Promise.withResolvers<void>();
  const client = createClient(there.url, {
    limits: { silenceMs: 100 },
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      if (new Request(input, init).url.includes("/clerk/request/")) looked += 1;
      if (looked === 2) looks.resolve();
      return answer;
    },
  });
  await client.agent("clerk").answer({ requestId, waitId: 2 }, { name: "Ada" });
  await client.agent("clerk").answer({ requestId, waitId: 3 }, { colour: "blue" });
  const call = client.request(requestId);
  await looks.promise;
  clerk.isChanged = false;
  await client.run(await call.runId).retry();
  await expect(call).resolves.toBe("Ada likes blue.");
});

/** Resolves with the state of a conversation when it fits. */
function shows(
  conversation: Conversation,
  fits: (state: ConversationState) => boolean,
): Promise<ConversationState> {
  const { promise, resolve } = Promise.withResolvers<ConversationState>();
  const unsubscribe = conversation.subscribe(() => {
    if (fits(conversation.state)) resolve(conversation.state);
  });
  return promise.finally(unsubscribe);
}
