// Serves an agent that says texts, and counts what its turns cost. Its arguments: the directory of its log, or the address of a
// PostgreSQL database; and how it says them. Its parent sends `begin` and `end`, and gets the address and the counts.
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import type { HeapProfiler } from "node:inspector";
import { Worker } from "node:worker_threads";
import pg from "pg";
import { createRuntime, defineAgent } from "troupe";
import { createMetrics } from "troupe/http";
import { serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { BackgroundIndexer } from "../../src/storage/sql/background-indexer.ts";
import type { Counted } from "./limits.ts";

const [, , where = "", how = ""] = process.argv;
const counts = {
  commits: 0,
  events: 0,
  messages: 0,
  wakes: 0,
  sharedBytes: 0,
  encodings: 0,
  statements: 0,
};
const heap = new Session();
let before = { ...counts, ...readIo() };

// They only count: what is called is called as before.
const { postMessage, emit } = Worker.prototype;
Worker.prototype.postMessage = function post(...args) {
  counts.messages += 1;
  postMessage.apply(this, args);
};
Worker.prototype.emit = function pass(this: Worker, ...args: Parameters<typeof emit>) {
  if (args[0] === "message") counts.messages += 1;
  return emit.apply(this, args);
} as typeof emit;
const { notify, waitAsync } = Atomics;
Atomics.notify = function wake(array: Int32Array, index: number, count?: number) {
  counts.wakes += 1;
  return notify(array, index, count);
} as typeof notify;
Atomics.waitAsync = function awaitWake(array: Int32Array, index: number, value: number) {
  counts.wakes += 1;
  return waitAsync(array, index, value);
} as typeof waitAsync;
const buffers = Buffer.prototype as Buffer;
const write = buffers.write as (text: string, offset?: number, length?: number) => number;
buffers.write = function copy(this: Buffer, text: string, offset?: number, length?: number) {
  const bytes = write.call(this, text, offset, length);
  if (this.buffer instanceof SharedArrayBuffer) counts.sharedBytes += bytes;
  return bytes;
} as Buffer["write"];
const stringify = JSON.stringify as (value: unknown, replacer?: null, space?: number) => string;
JSON.stringify = function encode(value: unknown, replacer?: null, space?: number): string {
  counts.encodings += 1;
  return stringify(value, replacer, space);
} as typeof JSON.stringify;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function ask(this: pg.Client, ...args: unknown[]) {
  counts.statements += 1;
  return (query as (...all: unknown[]) => unknown).apply(this, args);
} as typeof query;

// The words of runs are written behind the turns, for those of a while at once: how often depends on the time that all turns take.
BackgroundIndexer.prototype.wake = () => {};

const speaker = defineAgent({
  name: "speaker",
  purpose: "Says so many texts.",
  async chat(texts, turn) {
    for (let index = 1; index <= Number(texts); index += 1) {
      const said = turn.text(`text ${index}\n`);
      if (how === "fours" ? index % 4 === 0 : how !== "burst") await said;
    }
  },
});

const metrics = createMetrics();
const isPostgres = where.startsWith("postgres:");
const runtime = createRuntime({
  agents: [speaker],
  ...((how === "steps" || how === "fours") && { textWindowMs: 0 }),
  // Without a sync of each commit, which costs time and writes nothing.
  log: isPostgres ? await postgresLog({ url: where }) : sqliteLog(where, { durability: "relaxed" }),
  telemetry: {
    ...metrics,
    committed(events, ms) {
      counts.commits += 1;
      counts.events += events;
      metrics.committed(events, ms);
    },
  },
});
await runtime.ready();
const { url } = await serve(runtime, { metrics, drain: false });

process.on("message", (message) => {
  if (message === "begin") void begin();
  else void end();
});
process.on("disconnect", () => process.exit());
process.send?.({ url });

async function begin(): Promise<void> {
  heap.connect();
  await heap.post("HeapProfiler.startSampling", {
    samplingInterval: 4_096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  } as HeapProfiler.StartSamplingParameterType);
  before = { ...counts, ...readIo() };
  process.send?.("begun");
}

async function end(): Promise<void> {
  const after = { ...counts, ...readIo() };
  const { profile } = await heap.post("HeapProfiler.stopSampling");
  heap.disconnect();
  const differenceOf = (name: keyof typeof after): number => after[name] - before[name];
  const counted: Counted = {
    commits: differenceOf("commits"),
    events: differenceOf("events"),
    messages: differenceOf("messages"),
    wakes: differenceOf("wakes"),
    sharedBytes: differenceOf("sharedBytes"),
    encodings: differenceOf("encodings"),
    statements: differenceOf("statements"),
    writtenBytes: differenceOf("writtenBytes"),
    allocatedBytes: sizeOf(profile.head),
  };
  process.send?.(counted);
}

/** The samples of a place in the code and of what it calls, each with the objects that it stands for. */
function sizeOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), selfSize);
}

/** What the process has written: to its log, its connections and its threads. 0 where the system does not say. */
function readIo(): { readonly writtenBytes: number } {
  try {
    const [, bytes = "0"] = /^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8")) ?? [];
    return { writtenBytes: Number(bytes) };
  } catch {
    return { writtenBytes: 0 };
  }
}
