import { defineAgent, operation, topic } from "troupe";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";
import { send, stepOverDeaths } from "./steps.ts";
import { sampled } from "../../machine/long.ts";

const prices = topic("prices", { retain: 1 });
const news = topic("news");

const price = z.object({ value: z.number() });

/** Notes the prices that it is told. */
const trader = defineAgent({
  name: "trader",
  purpose: "Follows prices.",
  memorySchema: z.array(z.number()).default([]),
  messages: { headline: z.string() },
  operations: (own) => ({
    start: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(prices, "changed") }),
    stop: own({ input: z.object({}), run: (_input, turn) => turn.unsubscribe(prices) }),
    read_news: own({
      input: z.object({}),
      run: (_input, turn) => turn.subscribe(news, ["headline"]),
    }),
    wrong: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(prices, "fell") }),
    changed: own({
      input: price,
      run({ value }, turn) {
        turn.memory.set([...turn.memory.get(), value]);
      },
    }),
    seen: own({
      input: z.object({}),
      run: (_input, turn) => ({ prices: turn.memory.get(), news: turn.received("headline") }),
    }),
  }),
});

const market = defineAgent({
  name: "market",
  purpose: "Publishes prices.",
  operations: {
    open: operation({
      input: z.object({ values: z.array(z.number()) }),
      async run({ values }, turn) {
        await Promise.all(values.map((value) => turn.publish(prices, "changed", { value })));
      },
    }),
  },
});

const agents = [trader, market];

async function seen(host: TestHost, key: string): Promise<unknown> {
  const id = `seen-${key}-${String(host.commits)}`;
  await send(host, "trader", "seen", key, {}, id);
  return ((await host.events(id)).at(-1) as Event & { readonly output: unknown }).output;
}

describe("a topic", () => {
  test("tells each subscriber what is published under the names that it takes, in order", async () => {
    const host = new TestHost({ agents });
    for (const key of ["a", "b"]) await send(host, "trader", "start", key);
    await send(host, "market", "open", "m", { values: [1, 2, 3] });
    await host.ask("troupe-topic", { type: "Message", name: "other", body: null, key: "prices" });
    for (const key of ["a", "b"]) expect(await seen(host, key)).toEqual({ prices: [1, 2, 3], news: [] });
    await host.environment.advance(1_000);
    expect(await host.log.outbox({})).toEqual([]);
    expect(await host.log.outbox({ kind: "dead" })).toEqual([]);
    expect(host.faults).toEqual([]);
  });

  test("is published to from outside, once for each request id, and tells messages too", async () => {
    const host = new TestHost({ agents });
    await send(host, "trader", "read_news", "a");
    const options = { requestId: "n1" };
    await host.runtime.publish(news, "headline", "rain", options);
    await host.runtime.publish(news, "headline", "rain", options);
    await host.runtime.publish(news, "headline", "sun");
    await host.environment.idle();
    expect(await seen(host, "a")).toEqual({ prices: [], news: ["rain", "sun"] });
    await expect(host.runtime.publish(news, "Not a name", null)).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("is followed as a run: its publications are its events, and no turn reads them", async () => {
    const host = new TestHost({ agents });
    await host.runtime.publish(prices, "changed", { value: 7 });
    const events = await host.events((await host.runtime.find("troupe-topic", "prices")) ?? "");
    expect(events).toMatchObject([{ type: "MessageReceived", name: "changed", body: { value: 7 } }]);
    expect(host.runtime.agents).toEqual(["trader", "market"]);
  });

  test("with retain gives the newest publication to a new subscriber", async () => {
    const host = new TestHost({ agents });
    await send(host, "market", "open", "m", { values: [1, 2] });
    await host.restart();
    await send(host, "trader", "start", "a");
    await send(host, "market", "open", "m", { values: [3] });
    expect(await seen(host, "a")).toMatchObject({ prices: [2, 3] });
  });

  test("tells no one who has unsubscribed", async () => {
    const host = new TestHost({ agents });
    await send(host, "trader", "start", "a");
    await send(host, "market", "open", "m", { values: [1] });
    await send(host, "trader", "stop", "a");
    await send(host, "market", "open", "m", { values: [2] });
    expect(await seen(host, "a")).toMatchObject({ prices: [1] });
  });

  test("refuses a subscriber that has no operation or message for a name", async () => {
    const host = new TestHost({ agents });
    await send(host, "trader", "wrong", "a", {}, "wrong");
    expect((await host.events("wrong")).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { message: expect.stringContaining("no operation or message fell") as string },
    });
  });

  test("keeps its subscribers and its newest publication when its run is renewed", async () => {
    const host = new TestHost({ agents, limits: { keyedRunEvents: 5 } });
    await send(host, "trader", "start", "a");
    const before = await host.runtime.find("troupe-topic", "prices");
    for (let value = 1; value <= 12; value += 1) {
      await send(host, "market", "open", "m", { values: [value] });
      await host.environment.advance(1_000);
    }
    expect(await host.runtime.find("troupe-topic", "prices")).not.toBe(before);
    expect(await seen(host, "a")).toMatchObject({ prices: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] });
    await send(host, "trader", "start", "b");
    expect(await seen(host, "b")).toMatchObject({ prices: [12] });
  });
});

describe("a topic with messages", () => {
  const rates = topic("rates", {
    retain: 1,
    messages: { changed: z.object({ value: z.number() }), closed: z.object({}) },
  });
  const bank = defineAgent({
    name: "bank",
    purpose: "Publishes rates, and follows them.",
    memorySchema: z.array(z.number()).default([]),
    operations: (own) => ({
      // A handler is not always type-checked.
      quote: own({ input: z.any(), run: async (body, turn) => turn.publish(rates, "changed", body) }),
      follow: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(rates, "changed") }),
      miss: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(rates, "fell" as "changed") }),
      changed: own({
        input: rates.messages.changed,
        run: ({ value }, turn) => turn.memory.set([...turn.memory.get(), value]),
      }),
      seen: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const own = { agents: [bank], topics: [rates] };

  test("takes only what fits them, from every publisher", async () => {
    const host = new TestHost(own);
    await send(host, "bank", "follow", "a");
    await send(host, "bank", "quote", "a", { value: 1 }, "good");
    await send(host, "bank", "quote", "a", { value: "1" }, "bad");
    expect((await host.events("bad")).at(-1)).toMatchObject({
      error: { message: expect.stringContaining("changed of topic rates") as string },
    });
    await expect(host.runtime.publish(rates, "changed", { value: "2" } as never)).rejects.toMatchObject({
      code: "unprocessable",
      details: { issues: [{ path: "value" }] },
    });
    await expect(host.runtime.publish(topic("rates"), "fell", { value: 2 })).rejects.toMatchObject({
      code: "unprocessable",
      details: { hint: "it has changed, closed" },
    });
    await send(host, "bank", "miss", "a", {}, "miss");
    expect((await host.events("miss")).at(-1)).toMatchObject({
      error: { message: expect.stringContaining("nothing is published as fell to topic rates") as string },
    });
    await host.runtime.publish(rates, "changed", { value: 3 });
    await host.environment.idle();
    expect(await host.runtime.actor(bank, "a").ask("seen", {})).toEqual([1, 3]);
  });

  test("is unknown to a runtime that was not given it", async () => {
    const host = new TestHost({ agents: [bank] });
    await expect(host.runtime.publish(rates, "changed", { value: 1 })).rejects.toMatchObject({
      code: "invalid_request",
      details: { hint: expect.stringContaining("createRuntime({ topics })") as string },
    });
    expect(() => new TestHost({ ...own, topics: [rates, topic("rates")] })).toThrow(
      "two topics have the name rates",
    );
    expect(() => topic("rates", { messages: { changed: {} as never } })).toThrow("has no schema");
  });

  test("is listed with its messages, its subscribers and its newest publications", async () => {
    const host = new TestHost(own);
    const { topics } = host.runtime;
    const messages = [{ name: "changed", body_schema: expect.any(Object) as object }, { name: "closed" }];
    expect(await topics.list({ limit: 10 })).toMatchObject({
      topics: [{ name: "rates", retain: 1, messages }],
    });
    expect(await topics.get("rates")).toMatchObject({ subscriber_count: 0, newest: 0 });
    expect(await topics.newest("rates")).toEqual([]);
    await expect(topics.get("none")).rejects.toMatchObject({ code: "not_found" });
    await expect(topics.get("no name")).rejects.toMatchObject({ code: "invalid_request" });
    await host.runtime.publish(topic("other"), "said", "x");
    await send(host, "bank", "follow", "a");
    for (const value of [1, 2]) await host.runtime.publish(rates, "changed", { value });
    await host.runtime.publish(rates, "closed", {});
    const listed = await topics.list({ limit: 10 });
    expect(listed.topics.map(({ name }) => name).sort()).toEqual(["other", "rates"]);
    const { run_id: runId, ...details } = await topics.get("rates");
    expect(details).toMatchObject({ subscriber_count: 1, newest: 4 });
    expect(details.subscribers).toEqual([
      { agent: "bank", key: "a", run_id: expect.any(String) as string, names: ["changed"] },
    ]);
    expect(await topics.newest("rates")).toMatchObject([
      { run_id: runId, id: 3, name: "changed", body: { value: 2 } },
      { run_id: runId, id: 4, name: "closed", body: {} },
    ]);
    expect(await topics.open("new")).toMatchObject({ name: "new", run_id: expect.any(String) as string });
  });
});

const faults = Array.from({ length: 60 }, (_, at) => [
  { commit: at + 1, written: false },
  { commit: at + 1, written: true },
]).flat();

test.each(sampled(faults, 7))(
  "a crash at commit $commit (written: $written) loses no publication, repeats none and keeps their order",
  async ({ commit, written }) => {
    const commitFaults = [{ commit, kind: "crash", written }] as const;
    const host = new TestHost({ agents, commitFaults });
    const steps: (() => Promise<unknown>)[] = [
      ...["a", "b", "c"].map((key) => () => send(host, "trader", "start", key, {}, `start-${key}`)),
      () => send(host, "market", "open", "m", { values: [1, 2] }, "first"),
      () => send(host, "market", "open", "m", { values: [3, 4, 5] }, "second"),
    ];
    await stepOverDeaths(host, steps);
    for (const key of ["a", "b", "c"])
      expect(await seen(host, key)).toMatchObject({ prices: [1, 2, 3, 4, 5] });
    await host.environment.advance(2_000);
    expect(await host.log.outbox({})).toEqual([]);
  },
);
