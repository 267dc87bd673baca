import { defineAgent } from "troupe";
import type { Agent, Operation } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ClusterHost } from "../../cluster/cluster-host.ts";

const MINUTE_MS = 60_000;

/** Has itself told something every minute, and counts that. */
const clock: Agent<{ readonly strike: Operation<Record<never, never>> }> = defineAgent({
  name: "clock",
  purpose: "Strikes.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    begin: own({
      input: z.object({}),
      async run(_input, turn) {
        await turn.schedule(
          turn.actor(clock, turn.self),
          "strike",
          {},
          { everyMs: MINUTE_MS, id: "minutely" },
        );
      },
    }),
    strike: own({ input: z.object({}), run: (_input, turn) => turn.memory.set(turn.memory.get() + 1) }),
  }),
});

test("each time of a schedule that an actor has made is one turn, whichever of the nodes sends it and dies", async () => {
  const host = new ClusterHost();
  const nodes = [await host.start([clock]), await host.start([clock])] as const;
  await host.pass(2_000);
  const begin = { type: "OperationRequest", operation: "begin", input: {}, key: "one" } as const;
  const runId = await host.ask(nodes[0], "clock", begin);
  /** The minutes in which it has struck. */
  const strikes = async (): Promise<readonly string[]> =>
    (await host.events(runId)).flatMap((event) =>
      event.type === "RequestStarted" && event.operation === "strike" ? [event.ts.slice(0, 16)] : [],
    );
  await host.pass(3.5 * MINUTE_MS);
  expect(await strikes()).toHaveLength(3);
  for (const node of nodes) {
    await host.start([clock]);
    await host.pass(2_000);
    node.kill();
    await host.pass(2 * MINUTE_MS);
  }
  const times = await strikes();
  expect(times).toHaveLength(7);
  expect(new Set(times).size).toBe(7);
});
