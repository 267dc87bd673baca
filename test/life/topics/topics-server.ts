// Serves a topic's subscribers with a durable log in the directory given as its only argument, and prints its address.
import { createRuntime, defineAgent, topic } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";

const [, , directory = "."] = process.argv;

const ticks = topic("ticks");

/** Checks that it gets 1, 2, 3 … */
const listener = defineAgent({
  name: "listener",
  purpose: "Counts what it is told.",
  memorySchema: z.object({ last: z.number(), wrong: z.number() }).default({ last: 0, wrong: 0 }),
  operations: (operation) => ({
    join: operation({ input: z.object({}), run: (_input, turn) => turn.subscribe(ticks, "tick") }),
    tick: operation({
      input: z.object({ n: z.number() }),
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

const runtime = createRuntime({
  agents: [listener, crowd],
  log: sqliteLog(directory, { durability: "relaxed" }),
});
await runtime.ready();
const { url } = await serve(runtime, { port: 0 });
console.log(url);
