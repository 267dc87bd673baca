// Serves a topic's subscribers with a durable log in the directory given as its only argument, and prints its address. With a
// database in `TROUPE_TOPICS_POSTGRES`, as `{url, schema}`, it is a node of a cluster.
import { clusterRouter, createRuntime, defineAgent, topic } from "troupe";
import type { CreateRuntimeOptions } from "troupe";
import { httpTransport, nodeEnvironment, serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";
import { findFreeUrl } from "../../machine/free-port.ts";

const [, , directory = "."] = process.argv;

const ticks = topic("ticks", { messages: { tick: z.object({ n: z.number() }) } });

/** Checks that it gets 1, 2, 3 … */
const listener = defineAgent({
  name: "listener",
  purpose: "Counts what it is told.",
  memorySchema: z.object({ last: z.number(), wrong: z.number() }).default({ last: 0, wrong: 0 }),
  operations: (operation) => ({
    join: operation({ input: z.object({}), run: (_input, turn) => turn.subscribe(ticks, "tick") }),
    tick: operation({
      input: ticks.messages.tick,
      run({ n }, turn) {
        const { last, wrong } = turn.memory.get();
        turn.memory.set({ last: n, wrong: n === last + 1 ? wrong : wrong + 1 });
      },
    }),
    seen: operation({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

/** Has listeners subscribe. */
const crowd = defineAgent({
  name: "crowd",
  purpose: "Brings listeners together.",
  operations: (operation) => ({
    gather: operation({
      input: z.object({ from: z.number(), to: z.number() }),
      async run({ from, to }, turn) {
        const keys = Array.from({ length: to - from }, (_, at) => `l-${from + at}`);
        await Promise.all(keys.map((key) => turn.ask(turn.actor(listener, key), "join", {})));
      },
    }),
  }),
});

async function openEngines(): Promise<Pick<CreateRuntimeOptions, "log" | "environment" | "router">> {
  const database = process.env["TROUPE_TOPICS_POSTGRES"];
  if (database === undefined) return { log: sqliteLog(directory, { durability: "relaxed" }) };
  const { url, schema } = JSON.parse(database) as { readonly url: string; readonly schema: string };
  const log = await postgresLog({ url, schema });
  const environment = nodeEnvironment();
  const transport = httpTransport({ url: await findFreeUrl(), secret: "shared by both nodes" });
  return { log, environment, router: clusterRouter({ log, transport, environment }) };
}

const runtime = createRuntime({ agents: [listener, crowd], topics: [ticks], ...(await openEngines()) });
await runtime.ready();
const { url } = await serve(runtime, { port: 0 });
console.log(url);
