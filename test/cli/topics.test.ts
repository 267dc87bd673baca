/** @module-tag long */
import { defineAgent, topic } from "troupe";
import { createTopicClient } from "troupe/client";
import { expect, test } from "vitest";
import { z } from "zod";
import { start } from "../client/servers.ts";
import { createProject, startCommand } from "./command.ts";

const prices = topic("prices", { retain: 1, messages: { changed: z.object({ value: z.number() }) } });

const trader = defineAgent({
  name: "trader",
  purpose: "Notes prices.",
  memorySchema: z.array(z.number()).default([]),
  operations: (own) => ({
    start: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(prices, "changed") }),
    changed: own({
      input: prices.messages.changed,
      run: ({ value }, turn) => turn.memory.set([...turn.memory.get(), value]),
    }),
    seen: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

test("topics are listed, shown, followed and published to on the command line and by the client", async () => {
  await using server = await start({ agents: [trader], topics: [prices] });
  const cwd = await createProject({});
  const command = (...args: readonly string[]): ReturnType<typeof startCommand> =>
    startCommand(["topics", ...args, "--url", server.url], { cwd });
  const run = async (...args: readonly string[]): Promise<readonly [string | number, string]> => {
    const started = command(...args);
    return [await started.exited, started.output()];
  };
  expect(await run("list")).toEqual([0, expect.stringMatching(/TOPIC +MESSAGES.*\n *prices +changed +- +-/)]);
  expect(await run("show", "news")).toEqual([66, expect.stringContaining("there is no topic news")]);
  await server.runtime.actor(trader, "ann").ask("start", {});
  expect(await run("publish", "prices", "changed", '{"value": 1}', "--request-id", "one")).toEqual([
    0,
    expect.stringContaining("published changed to prices as one"),
  ]);
  await run("publish", "prices", "changed", '{"value": 1}', "--request-id", "one");
  expect(await run("publish", "prices", "changed", '{"value": "x"}')).toEqual([
    2,
    expect.stringContaining("changed of topic prices"),
  ]);
  expect(await run("publish", "prices", "changed", "{")).toEqual([2, expect.stringContaining("is no JSON")]);
  expect(await run("show", "prices")).toEqual([
    0,
    expect.stringMatching(/has 1 subscriber\n[^]*trader \(ann\) +changed/),
  ]);

  const client = createTopicClient(server.url);
  const following = command("follow", "prices", "--newest", "--json");
  await following.match(/"value":1/);
  expect(await client.publish(prices, "changed", { value: 2 }, { requestId: "two" })).toBe("two");
  await client.publish(prices, "changed", { value: 2 }, { requestId: "two" });
  await following.match(/"value":2/);
  await expect(client.publish("prices", "fell", null)).rejects.toMatchObject({ code: "unprocessable" });
  await expect.poll(() => server.runtime.actor(trader, "ann").ask("seen", {})).toEqual([1, 2]);

  const seen: number[] = [];
  for await (const { name, body, ...place } of client.subscribe(prices)) {
    seen.push(body.value);
    expect(name).toBe("changed");
    if (seen.length === 1) await client.publish(prices, "changed", { value: 3 });
    else {
      await client.publish(prices, "changed", { value: 4 });
      for await (const after of client.subscribe(prices, { after: place })) {
        seen.push(after.body.value);
        break;
      }
      break;
    }
  }
  expect(seen).toEqual([2, 3, 4]);
  expect((await client.list({ limit: 1 })).topics).toMatchObject([{ name: "prices", retain: 1 }]);
  expect(await client.get("prices")).toMatchObject({ subscriber_count: 1 });
});

test("a client follows a topic that there is not yet, over its renewal", async () => {
  await using server = await start({ agents: [trader], limits: { keyedRunEvents: 3 } });
  const client = createTopicClient(server.url);
  const stream = client.subscribe("news", { names: ["said"] });
  const first = stream.next();
  await expect.poll(() => client.get("news").catch(() => undefined)).toMatchObject({ newest: 1 });
  for (let n = 1; n <= 12; n += 1) {
    await client.publish("news", "said", n);
    await client.publish("news", "other", n);
  }
  const bodies = [(await first).value?.body];
  while (bodies.length < 12) bodies.push((await stream.next()).value?.body);
  expect(bodies).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  await stream.return();
});
