// Serves a supervised worker with a durable log in the directory given as its only argument, and prints its address.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineAgent, ended } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";

const [, , directory = "."] = process.argv;
const nothing = z.object({});

/** It fails while its tool is broken: until the file `mended` is there. */
const worker = defineAgent({
  name: "worker",
  purpose: "Works, or fails.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    work: own({
      input: nothing,
      run(_input, turn): string {
        turn.memory.set(turn.memory.get() + 1);
        if (!existsSync(join(directory, "mended"))) throw new Error("the tool is broken");
        return "done";
      },
    }),
    done: own({ read: true, input: nothing, run: (_input, turn) => turn.memory.get() }),
  }),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Watches the worker, and has it try again.",
  supervise: { on: "error", restart: { attempts: 3, backoffMs: 1_500 }, then: "stop" },
  operations: (own) => ({
    watch: own({ input: nothing, run: (_input, turn) => turn.watch(turn.actor(worker, "w")) }),
    ended: own({ input: ended, run: () => null }),
  }),
});

const runtime = createRuntime({ agents: [worker, boss], log: sqliteLog(directory) });
await runtime.ready();
const { url } = await serve(runtime, { port: 0, drain: false });
console.log(url);
