import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime, defineAgent, topic } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";

/**
 * What a delivery of a topic costs, without kills and without HTTP: CPU of the process for each, and its largest memory. Run it with
 * `node --conditions=troupe-source --expose-gc test/life/topics/cost.ts --subscribers 1000 --publications 20`.
 */
const { values } = parseArgs({
  options: {
    subscribers: { type: "string", default: "1000" },
    publications: { type: "string", default: "20" },
  },
});
const [subscribers, publications] = [Number(values.subscribers), Number(values.publications)];
const ticks = topic("ticks");
let told = 0;
let wrong = 0;
let isOver: () => void = () => {};

const listener = defineAgent({
  name: "listener",
  purpose: "Counts what it is told.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    join: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(ticks, "tick") }),
    tick: own({
      input: z.object({ n: z.number() }),
      run({ n }, turn) {
        if (turn.memory.get() !== n - 1) wrong += 1;
        turn.memory.set(n);
        told += 1;
        if (told === subscribers * publications) isOver();
      },
    }),
  }),
});

const directory = mkdtempSync(join(tmpdir(), "topics-cost-"));
const runtime = createRuntime({
  agents: [listener],
  log: sqliteLog(directory, { durability: "relaxed" }),
});
await runtime.ready();
for (let from = 0; from < subscribers; from += 500)
  await Promise.all(
    Array.from({ length: Math.min(500, subscribers - from) }, (_, at) =>
      runtime.actor(listener, `l-${from + at}`).ask("join", {}),
    ),
  );
globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
let most = before;
const watching = setInterval(() => {
  most = Math.max(most, process.memoryUsage().heapUsed);
}, 20);
const over = new Promise<void>((resolve) => {
  isOver = resolve;
});
const begun = performance.now();
const cpu = process.cpuUsage();
for (let n = 1; n <= publications; n += 1) await runtime.publish(ticks, "tick", { n });
const publishedMs = performance.now() - begun;
await over;
const { user, system } = process.cpuUsage(cpu);
clearInterval(watching);
console.log(
  JSON.stringify({
    deliveries: told,
    wrong,
    cpuUs: Math.round((user + system) / told),
    publishedMs: Math.round(publishedMs),
    ms: Math.round(performance.now() - begun),
    heapMb: Math.round(before / 1e6),
    mostMb: Math.round(most / 1e6),
  }),
);
await runtime.close();
rmSync(directory, { recursive: true, force: true });
