import { defineAgent, operation } from "troupe";
import { createClient, createConversation, createRunList, createWaitList } from "troupe/client";
import type { Conversation, ConversationState, LiveList, RunMemory } from "troupe/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

/** Fails as long as it is told to. */
const weather = { isDown: true };
const forecaster = defineAgent({
  name: "forecaster",
  purpose: "Fails while its service is down.",
  async chat(input, turn) {
    if (weather.isDown) throw new Error("the service is down");
    const files = await turn.attachments();
    await turn.text(`${input}: sun${files.map(({ name }) => `, ${name}`).join("")}`);
  },
});

/** Has operations that only read. */
const reader = defineAgent({
  name: "reader",
  purpose: "Is read.",
  operations: {
    count: operation({ read: true, input: z.object({}), run: () => 1 }),
    fail: operation({
      read: true,
      input: z.object({}),
      run: (): number => {
        throw new Error("the count cannot be read");
      },
    }),
  },
  async chat(input, turn) {
    await turn.text(input);
  },
});

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [notebook, payments, forecaster, reader] });
});
afterAll(() => server[Symbol.asyncDispose]());

test("a message is in sight at once, and is replaced by its turn", async () => {
  const conversation = createConversation(createClient(server.url).agent("notebook"));
  const states: string[] = [];
  await shows(
    conversation,
    async ({ status, sent, view }) => {
      states.push(`${status} ${sent.length} ${view.turns.length}`);
      return view.turns[0]?.outcome === "success";
    },
    () => conversation.send("milk"),
  );
  expect(states[0]).toBe("sending 1 0");
  expect(states.at(-1)).toBe("idle 0 1");
});

test("a failed turn is an error, and is tried again in a run that begins before it", async () => {
  weather.isDown = true;
  const conversation = createConversation(createClient(server.url).agent("forecaster"));
  const failed = shows(conversation, ({ status }) => status === "failed");
  await conversation.send("Oslo");
  await failed;
  const { error, runId = "", branches } = conversation.state;
  expect(error).toMatchObject({
    code: "agent_error",
    message: expect.stringContaining("service is down") as string,
  });
  expect(branches).toEqual([]);
  weather.isDown = false;
  const told = shows(conversation, ({ view, status }) => status === "idle" && view.turns.length === 1);
  await conversation.retry();
  await told;
  expect(conversation.state.view.turns[0]).toMatchObject({ input: "Oslo", result: "Oslo: sun" });
  expect(conversation.state.error).toBeUndefined();
  expect(conversation.state.branches).toEqual([runId]);
  const before = shows(conversation, ({ status }) => status === "failed");
  conversation.open(runId);
  await before;
});

test("a turn is edited, and a branch makes its run with its first message, not before", async () => {
  const client = createClient(server.url);
  const conversation = createConversation(client.agent("notebook"));
  const said = (result: string): Promise<void> =>
    shows(conversation, ({ view, status }) => status === "idle" && view.turns.at(-1)?.result === result);
  const both = said("1. milk\n2. bread");
  await conversation.send("milk");
  await conversation.send("bread");
  await both;
  const [milk, bread] = conversation.state.view.turns;
  const edited = said("1. milk\n2. salt");
  await conversation.edit(bread?.requestId ?? "", "salt");
  await edited;

  // Back in the run that was left.
  const [left = ""] = conversation.state.branches;
  const shown = said("1. milk\n2. bread");
  conversation.open(left);
  await shown;
  const count = async (): Promise<number> => (await client.runs({ agent: "notebook" })).runs.length;
  const before = await count();
  conversation.branch(milk?.requestId ?? "");
  expect(conversation.state.view.turns).toHaveLength(1);
  expect(await count()).toBe(before);
  const branched = said("1. milk\n2. pepper");
  await conversation.send("pepper");
  await branched;
  expect(await count()).toBe(before + 1);
  expect(conversation.state.branches).toEqual([left]);
  expect(() => conversation.branch("req_unknown")).toThrow("has no turn req_unknown");
});

test("a branch of a branch has the memory before it, and is what a page remembers", async () => {
  const client = createClient(server.url);
  let kept: string | undefined;
  const memory: RunMemory = { read: () => kept, write: (runId) => (kept = runId) };
  const conversation = createConversation(client.agent("notebook"), { memory });
  const said = async (result: string, action: () => Promise<void>): Promise<void> => {
    await shows(
      conversation,
      ({ view, status }) => status === "idle" && view.turns.at(-1)?.result === result,
      action,
    );
  };
  await said("1. milk", () => conversation.send("milk"));
  await said("1. milk\n2. bread", () => conversation.send("bread"));
  for (const text of ["salt", "pepper", "oil"])
    await said(`1. milk\n2. ${text}`, () =>
      conversation.edit(conversation.state.view.turns.at(-1)?.requestId ?? "", text),
    );
  expect(conversation.state.branches).toHaveLength(3);
  expect(kept).toBe(conversation.state.runId);
  const reloaded = createConversation(client.agent("notebook"), { memory });
  await shows(reloaded, ({ view }) => view.turns.at(-1)?.result === "1. milk\n2. oil");
  await shows(
    reloaded,
    ({ view }) => view.turns.at(-1)?.result === "1. milk\n2. oil\n3. rice",
    () => reloaded.send("rice"),
  );
});

test("an operation that only reads leaves nothing pending, also when it fails", async () => {
  const conversation = createConversation(createClient(server.url).agent<typeof reader>("reader"));
  // Also before there is a run, and without making one.
  await conversation.call("count", {});
  expect(conversation.state).toMatchObject({ status: "idle", sent: [], runId: undefined });
  const told = shows(conversation, ({ view, status }) => status === "idle" && view.turns.length === 1);
  await conversation.send("hello");
  await told;
  await conversation.call("count", {});
  expect(conversation.state).toMatchObject({ status: "idle", sent: [], pending: false, error: undefined });
  await expect(conversation.call("fail", {})).rejects.toThrow("cannot be read");
  expect(conversation.state).toMatchObject({ status: "failed", pending: false });
  expect(conversation.state.view.turns).toHaveLength(1);
});

test("cancel and retry fail when there is nothing to cancel or to try again", async () => {
  const conversation = createConversation(createClient(server.url).agent("notebook"));
  await expect(conversation.cancel()).rejects.toMatchObject({ code: "conflict" });
  await expect(conversation.retry()).rejects.toMatchObject({ code: "conflict" });
});

test("a message that did not reach the server stays in sight, and is sent once when it is tried again", async () => {
  let isCut = true;
  const cut: typeof fetch = (...request) =>
    isCut ? Promise.reject(new TypeError("cut")) : fetch(...request);
  const client = createClient(server.url, { fetch: cut, attempts: 1 });
  const conversation = createConversation(client.agent("forecaster"));
  const file = { name: "map.txt", mimeType: "text/plain", data: "north" };
  weather.isDown = false;
  await expect(conversation.send("Rome", { files: [file] })).rejects.toMatchObject({ code: "unavailable" });
  expect(conversation.state).toMatchObject({
    status: "failed",
    sent: [{ input: "Rome", error: { code: "unavailable" } }],
  });
  isCut = false;
  const told = shows(conversation, ({ view }) => view.turns[0]?.outcome === "success");
  await conversation.retry();
  await told;
  expect(conversation.state).toMatchObject({ status: "idle", sent: [], error: undefined });
  expect(conversation.state.view.turns[0]?.result).toBe("Rome: sun, map.txt");
  // Tried again as a branch, with its file.
  const again = shows(
    conversation,
    ({ branches, view }) => branches.length === 1 && view.turns[0]?.outcome === "success",
  );
  await conversation.retry();
  await again;
  expect(conversation.state.view.turns[0]?.result).toBe("Rome: sun, map.txt");
});

test("a run is remembered, and forgotten when it is gone", async () => {
  const client = createClient(server.url);
  let kept: string | undefined;
  const memory: RunMemory = { read: () => kept, write: (runId) => (kept = runId) };
  const first = createConversation(client.agent("notebook"), { memory });
  await first.send("milk");
  expect(kept).toBe(first.state.runId);
  const second = createConversation(client.agent("notebook"), { memory });
  await shows(second, ({ view }) => view.turns[0]?.outcome === "success");
  await client.run(kept ?? "").remove();
  const third = createConversation(client.agent("notebook"), { memory });
  const forgotten = shows(third, ({ runId }) => runId === undefined && kept === undefined);
  await forgotten;
  expect(third.state).toMatchObject({ status: "idle", error: undefined });
});

test("a conversation with an actor shows what others say to it, also before it is there", async () => {
  const client = createClient(server.url);
  const mine = createConversation(client.agent("notebook"), { key: "shopping" });
  const shown = shows(mine, ({ view }) => view.turns[0]?.result === "1. milk");
  await createConversation(client.agent("notebook"), { key: "shopping" }).send("milk");
  await shown;
  const second = shows(mine, ({ view }) => view.turns.at(-1)?.result === "1. milk\n2. bread");
  await mine.send("bread");
  await second;
  expect(mine.state.view.turns).toHaveLength(2);
});

test("a chat that is taken up again gives its text", async () => {
  const client = createClient(server.url);
  const call = client.agent("notebook").chat("milk");
  await call;
  expect(await client.request(call.requestId)).toBe("1. milk");
});

test("lists of runs and of open questions are kept current", { tags: "long" }, async () => {
  const client = createClient(server.url);
  const runs = createRunList(client, { agent: "payments", limit: 1 });
  const waits = createWaitList(client, { agent: "payments" });
  const asked = [
    filled(waits, ({ items }) => items.length === 2),
    filled(runs, ({ items, hasMore }) => items[0]?.status === "waiting" && hasMore),
  ];
  await client.agent("payments").chat("pay 1 to ann").runId;
  await client.agent("payments").chat("pay 2 to bob").runId;
  await Promise.all(asked);
  const stop = runs.subscribe(() => {});
  await filled(runs, ({ hasMore }) => hasMore);
  await runs.more();
  expect(runs.state.items).toHaveLength(2);
  stop();
  const answered = filled(waits, ({ items }) => items.length === 1);
  await waits.state.items[0]?.answer({ approved: true });
  await answered;
});

/** Subscribes until the conversation is as expected. */
async function shows(
  conversation: Conversation,
  isExpected: (state: ConversationState) => boolean | Promise<boolean>,
  action?: () => Promise<void>,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = conversation.subscribe(() => {
    void Promise.resolve(isExpected(conversation.state)).then((is) => is && resolve());
  });
  await action?.();
  await promise;
  unsubscribe();
}

/** Subscribes until the list is as expected. */
async function filled<Item>(
  list: LiveList<Item>,
  isExpected: (state: LiveList<Item>["state"]) => boolean,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (isExpected(list.state)) resolve();
  };
  const unsubscribe = list.subscribe(look);
  look();
  await promise;
  unsubscribe();
}
