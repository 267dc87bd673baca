import { defineAgent, operation, topic } from "troupe";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";
import { send, stepOverDeaths } from "./steps.ts";

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

const faults = Array.from({ length: 60 }, (_, at) => [
  { commit: at + 1, written: false },
  { commit: at + 1, written: true },
]).flat();

test.each(faults)(
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
