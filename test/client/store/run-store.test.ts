import { defineAgent } from "troupe";
import { createClient, createRunStore, project } from "troupe/client";
import type { RunStore } from "troupe/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { team } from "../../../agents/team.ts";
import { ticker } from "../../../agents/ticker.ts";
import { FaultProxy } from "../stream/fault-proxy.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

let server: Served;
beforeAll(async () => {
  const talker = defineAgent({
    name: "talker",
    purpose: "Says a number of words.",
    async chat(input, turn) {
      for (let number = 1; number <= Number(input); number += 1) await turn.text(`${number} `);
    },
  });
  server = await start({ agents: [payments, talker, team, ticker] });
});
afterAll(() => server[Symbol.asyncDispose]());

test("a store shows a run from its first event, and its changes", async () => {
  const call = createClient(server.url)
    .agent<typeof payments>("payments")
    .call("pay", { to: "bob", amount: 3 });
  const store = createRunStore(createClient(server.url), await call.runId);
  expect(store.connection.state).toBe("idle");
  const end = await shows(store, ({ view }) => view.status === "waiting");
  expect(store.view).toMatchObject({
    agent: "payments",
    turns: [{ requestId: call.requestId, phase: "waiting" }],
    waits: [{ questions: { approved: "Pay 3 to bob?" }, state: "open" }],
  });
  await expect(call).rejects.toMatchObject({ code: "waiting" });
  await call.waits[0]?.answer({ approved: true });
  (await shows(store, ({ view }) => view.status === "idle"))();
  expect(store.view.turns[0]).toMatchObject({ outcome: "success", output: { receipt: "bob:3" } });
  expect(store.view.parts.map(({ kind }) => kind)).toEqual(["input", "wait", "answer", "text", "end"]);
  expect(store.view).toEqual(project(store.events));
  end();
  expect(store.connection.state).toBe("idle");
});

test("calls at all depths are in one tree", async () => {
  const { runId } = createClient(server.url).agent("team").chat("moss");
  const store = createRunStore(createClient(server.url), await runId);
  const end = await shows(store, ({ view }) => view.turns[0]?.phase === "ended");
  end();
  const { calls, turns } = store.view;
  const tree = (key: string): unknown => {
    const call = calls.get(key);
    return { [`${call?.kind} ${call?.name}`]: call?.children.map(tree) };
  };
  expect(tree(turns[0]?.root ?? "")).toEqual({
    "turn team": [
      {
        "agent researcher": [
          { "model scripted": [] },
          { "agent summarizer": [{ "model scripted": [] }] },
          { "model scripted": [] },
        ],
      },
    ],
  });
  expect([...calls.values()].every(({ outcome }) => outcome === "success")).toBe(true);
});

test("a store without a subscriber holds no connection, and the next one reads on", async () => {
  let streams = 0;
  const counting: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (new URL(url).searchParams.has("stream")) {
      streams += 1;
      init?.signal?.addEventListener("abort", () => (streams -= 1));
    }
    return response;
  };
  const ticks = createClient(server.url).agent("ticker");
  const first = ticks.chat("2 1");
  await first;
  const runId = await first.runId;
  const store = createRunStore(createClient(server.url, { fetch: counting }), runId);
  const end = await shows(store, ({ view }) => view.turns.length === 1);
  expect(streams).toBe(1);
  end();
  expect(streams).toBe(0);
  await ticks.chat("2 1", { runId });
  const endAgain = await shows(store, ({ view }) => view.turns[1]?.phase === "ended");
  expect(store.events.map(({ id }) => id)).toEqual(store.events.map((_, index) => index + 1));
  endAgain();
});

test("a cut connection is shown, and costs no event", async () => {
  await using proxy = await FaultProxy.start(server.url);
  const runId = await createClient(server.url).agent("ticker").chat("50 1").runId;
  proxy.faults.push({ afterBytes: 900, kind: "reset" });
  const store = createRunStore(createClient(proxy.url), runId);
  const states: string[] = [];
  store.subscribe(() => {
    if (states.at(-1) !== store.connection.state) states.push(store.connection.state);
  });
  const end = await shows(store, ({ view }) => view.turns[0]?.phase === "ended");
  end();
  expect(states).toEqual(["connecting", "live", "lost", "live"]);
  expect(store.events.map(({ id }) => id)).toEqual(store.events.map((_, index) => index + 1));
  store.close();
});

test("a past view is the one of that event", { tags: "long" }, async () => {
  const { runId } = createClient(server.url).agent("talker").chat("4500");
  const store = createRunStore(createClient(server.url), await runId);
  const end = await shows(store, ({ view }) => view.turns[0]?.phase === "ended");
  end();
  expect(store.view.head).toBe(4_502);
  for (const eventId of [0, 1, 1_999, 2_000, 2_001, 4_000, 4_501, 4_502, 9_999]) {
    const past = project(store.events.slice(0, eventId));
    expect(store.at(eventId), `event ${eventId}`).toEqual(past);
  }
  expect(store.at(4_502)).toBe(store.view);
});

test("an unknown run closes the store with the error", async () => {
  const store = createRunStore(createClient(server.url), "run_none");
  const end = await shows(store, ({ connection }) => connection.state === "closed");
  expect(store.error).toMatchObject({ code: "not_found" });
  end();
  expect(store.connection.state).toBe("closed");
});

/** Subscribes and resolves when the store is as expected, with the end of the subscription. */
function shows(store: RunStore, isExpected: (store: RunStore) => boolean): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const look = (): void => {
    if (isExpected(store)) resolve(end);
  };
  const end = store.subscribe(look);
  look();
  return promise;
}
