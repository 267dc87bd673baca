import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ClusterHost } from "../../cluster/cluster-host.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts.",
  operations: (operation) => ({
    set: operation({
      input: z.object({ count: z.number() }),
      run: ({ count }, turn) => turn.memory.set(count),
    }),
    count: operation({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() ?? null }),
  }),
});

test("every node reads an actor, also when the one that owned it has died", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([counter]), await host.start([counter])];
  await host.pass(2_000);
  const key = "one";
  const set = { type: "OperationRequest", operation: "set", input: { count: 3 }, key } as const;
  const runId = await host.ask(a, "counter", set);
  for (const node of [a, b]) {
    const read = node.runtime.ask(counter, "count", {}, { key });
    expect(await host.settle(read)).toBe(3);
  }
  const { owner } = (await host.log.run(runId)) ?? {};
  const [dead, other] = owner === a.id ? [a, b] : [b, a];
  dead.kill();
  await host.pass(30_000);
  expect(await host.settle(other.runtime.ask(counter, "count", {}, { key }))).toBe(3);
  expect((await host.events(runId)).map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted"]);
});
