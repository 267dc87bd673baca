import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { clusterRouter } from "../../src/cluster/cluster-router.ts";
import type { Json } from "../../src/protocol/json.ts";
import { memoryLog } from "../../src/storage/memory/log.ts";
import type { MemoryLog } from "../../src/storage/memory/log.ts";
import type { RouterNode } from "../../src/testing/router/subject.ts";
import { testRouter } from "../../src/testing/router/test-router.ts";
import { Lifetime } from "../runtime/lifetime.ts";

const environment = manualEnvironment();
const receivers = new Map<string, (message: Json) => Promise<Json>>();

testRouter({
  name: "cluster",
  open: async () => openNode(memoryLog({ now: environment.monotonic })),
  join: async ({ log }) => openNode(log as MemoryLog),
  pass: (ms) => environment.advance(ms),
});

/** A node whose messages go directly to the others. */
function openNode(shared: MemoryLog): RouterNode {
  const life = new Lifetime();
  const id = crypto.randomUUID();
  const log = shared.openNode(id);
  const url = `memory://${id}`;
  const transport = {
    url,
    listen: async (receive: (message: Json) => Promise<Json>) => {
      receivers.set(url, receive);
      return async () => void receivers.delete(url);
    },
    send: async (to: string, message: Json) => {
      const receive = receivers.get(to);
      if (receive === undefined) throw new Error("unreachable");
      return structuredClone(await receive(structuredClone(message)));
    },
  };
  const own = { ...environment, timer: (ms: number, fire: () => void) => life.timer(environment, ms, fire) };
  return {
    router: clusterRouter({ log, transport, environment: own }),
    log,
    kill: async () => {
      life.end();
      receivers.delete(url);
    },
  };
}

test.for([1_000, 60_001, Number.NaN])("a lease of %d ms is refused", (deadAfterMs) => {
  const log = memoryLog({ now: environment.monotonic }).openNode("node");
  const transport = { url: "memory://node", listen: async () => async () => {}, send: async () => null };
  const create = (): unknown => clusterRouter({ log, transport, environment, deadAfterMs });
  expect(create).toThrow(`deadAfterMs is ${deadAfterMs}, and must be 1500 to 60000`);
});
