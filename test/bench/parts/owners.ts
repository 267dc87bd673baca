import { setTimeout } from "node:timers/promises";
import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { forEachConcurrent } from "../../../src/shared/map-concurrent.ts";
import { collectGarbage } from "../../machine/garbage.ts";
import { atMost, kilobytes, ms, times } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { inDirectory, onPostgres, RUNS, sqlitePlace } from "./owner-places.ts";
import type { Place } from "./owner-places.ts";
import { paceMs } from "./turns/paced.ts";

/** How often each read is measured. */
const READS = 200;
/** The turns at once of a round, with and without an owner, and the texts of a turn. */
const TURNS = 32;
const TEXTS = 100;

const clerk = defineAgent({
  name: "clerk",
  purpose: "Answers, or asks a person.",
  async chat(input, turn) {
    if (input.startsWith("ask")) await turn.waitForInput({ answer: "What now?" });
    for (let text = 0; text < TEXTS; text += 1) {
      if (input.startsWith("paced")) await setTimeout(paceMs);
      await turn.text(`${input} `);
    }
  },
});

const ANN = { id: "ann", owner: "acme", roles: ["user"] } as const;

/** What owners cost: the reads of one among many, its turns, and its memory when it does nothing. */
export async function measureOwners({ isQuick, longRounds }: Setup): Promise<Result[]> {
  const owners = isQuick ? 1_000 : 10_000;
  return [
    ...(await inDirectory((directory) => measureReads(sqlitePlace(directory), owners))),
    ...(await onPostgres("reads of an owner", (place) => measureReads(place, owners))),
    await inDirectory((directory) => measureTurns(directory, longRounds * 3)),
    await inDirectory((directory) => measureMemory(directory, owners)),
  ];
}

async function measureReads(place: Place, owners: number): Promise<Result[]> {
  const log = await place.open();
  const runtime = createRuntime({ agents: [clerk], log });
  await runtime.ready();
  const own = runtime.as(ANN);
  await forEachConcurrent([...Array(RUNS).keys()], 16, async (run) => {
    const input = run % 10 === 0 ? `ask ${run}` : `hello ${run}`;
    const receipt = await own.process("clerk", { type: "ChatRequest", input });
    await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  });
  await runtime.close();
  await log.close();
  const few = await readsAmong(place, 0, (owners / 10) * RUNS);
  const all = await readsAmong(place, (owners / 10) * RUNS, owners * RUNS);
  return Object.entries(all).flatMap(([what, p50]) => [
    atMost(`p50 of ${what} of an owner among ${owners} with ${RUNS} runs each, ${place.name}`, p50, 5, ms),
    atMost(`the same beside that among ${owners / 10} owners`, p50 / (few[what] ?? 0), 1.5, times),
  ]);
}

/** The p50 of each read, with more runs of others than before. */
async function readsAmong(place: Place, from: number, to: number): Promise<Readonly<Record<string, number>>> {
  await place.fill(from, to);
  const log = await place.open();
  const runtime = createRuntime({ agents: [clerk], log });
  await runtime.ready();
  const own = runtime.as(ANN);
  const reads = {
    "the list": () => own.runs({ limit: 50 }),
    "the waits": () => own.waits({ limit: 50 }),
    "a search": () => own.runs({ limit: 50, text: "hello 77" }),
    "the runs that wait": () => own.runs({ limit: 50, status: "waiting" }),
  };
  const p50: Record<string, number> = {};
  for (const [what, read] of Object.entries(reads)) {
    const took: number[] = [];
    for (let count = 0; count < READS; count += 1) {
      const before = performance.now();
      await read();
      took.push(performance.now() - before);
    }
    p50[what] = median(took);
  }
  await runtime.close();
  await log.close();
  return p50;
}

/** The CPU of turns of an owner beside that of turns of a runtime without owners, at the pace of a model, in turn. */
async function measureTurns(directory: string, rounds: number): Promise<Result> {
  const runtime = createRuntime({ agents: [clerk], log: sqliteLog(directory, { durability: "relaxed" }) });
  await runtime.ready();
  const bare: number[] = [];
  const owned: number[] = [];
  for (let round = -2; round < rounds; round += 1)
    for (const { own, costs } of inTurn(
      round,
      { own: runtime, costs: bare },
      { own: runtime.as(ANN), costs: owned },
    )) {
      const before = process.cpuUsage();
      await haveTurns(own);
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) costs.push(user + system);
    }
  await runtime.close();
  return atMost(
    "CPU of a paced turn of an owner, beside one without owners, durable log, 32 at a time",
    median(owned.map((cost, round) => cost / (bare[round] ?? 0))),
    1.03,
    times,
  );
}

/** Both, beginning with another one in each round. */
function inTurn<Each>(round: number, one: Each, two: Each): readonly Each[] {
  return round % 2 === 0 ? [one, two] : [two, one];
}

async function haveTurns(own: Runtime): Promise<void> {
  await forEachConcurrent([...Array(TURNS).keys()], TURNS, async (turn) => {
    const receipt = await own.process("clerk", { type: "ChatRequest", input: `paced ${turn}` });
    await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  });
}

/** The memory that stays of an owner that has made a request. */
async function measureMemory(directory: string, owners: number): Promise<Result> {
  const runtime = createRuntime({
    agents: [clerk],
    log: sqliteLog(directory, { durability: "relaxed", cacheBytes: 1_048_576 }),
    limits: { idleRuns: 100 },
    owners: () => ({ requestsPerMinute: 600, openTurns: 10, uploadBytes: 1_000_000 }),
  });
  await runtime.ready();
  const ask = async (owner: string): Promise<void> => {
    const own = runtime.as({ ...ANN, owner });
    const receipt = await own.process("clerk", { type: "ChatRequest", input: "hello" });
    await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    await own.runs({ limit: 10 });
  };
  const heap = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  await forEachConcurrent([...Array(500).keys()], 16, (count) => ask(`early-${count}`));
  const before = heap();
  await forEachConcurrent([...Array(owners).keys()], 16, (count) => ask(`owner-${count}`));
  const each = (heap() - before) / owners;
  await runtime.close();
  return atMost(`memory of an idle owner among ${owners}`, each, 4_000, kilobytes);
}
