import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createRuntime, defineAgent } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { forEachConcurrent } from "../../../src/shared/map-concurrent.ts";
import { collectGarbage } from "../../machine/garbage.ts";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import { atMost, kilobytes, ms, skipped, times } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median, percentile } from "../harness/statistics.ts";

/** The runs of each owner, every tenth of which waits for a person. */
const RUNS = 100;
/** How often each read is measured. */
const READS = 200;
/** The turns of a round, with and without an owner, and their texts. A loaded machine needs many short rounds. */
const TURNS = 30;
const TEXTS = 100;

const clerk = defineAgent({
  name: "clerk",
  purpose: "Answers, or asks a person.",
  async chat(input, turn) {
    if (input.startsWith("ask")) await turn.waitForInput({ answer: "What now?" });
    for (let text = 0; text < TEXTS; text += 1) await turn.text(`${input} `);
  },
});

const ANN = { id: "ann", owner: "acme", roles: ["user"] } as const;

/** What owners cost: the reads of one among many, its turns, and its memory when it does nothing. */
export async function measureOwners({ isQuick, longRounds }: Setup): Promise<Result[]> {
  const owners = isQuick ? 1_000 : 10_000;
  return [
    ...(await inDirectory((directory) => measureReads(sqlitePlace(directory), owners))),
    ...(await measurePostgres(owners)),
    await inDirectory((directory) => measureTurns(directory, longRounds * 12)),
    await inDirectory((directory) => measureMemory(directory, owners)),
  ];
}

/** A store that can be filled with runs of other owners at once. */
interface Place {
  readonly name: string;
  open(): EventLog | Promise<EventLog>;
  /** Adds the runs from a number up to another one. */
  fill(from: number, to: number): Promise<void>;
}

async function measurePostgres(owners: number): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined)
    return [skipped("reads of an owner, PostgreSQL", "this machine has no PostgreSQL")];
  const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
  try {
    await server.create();
    await server.start();
    return await measureReads(postgresPlace(server.url), owners);
  } finally {
    await server.remove();
  }
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

/** The CPU of turns of an owner beside that of turns of a runtime that asks nobody, in turn. */
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
  // The tenth cheapest of a hundred: what the machine does besides makes the others dearer.
  const ratio = percentile(owned, 0.1) / percentile(bare, 0.1);
  return atMost(
    `CPU of a turn of an owner with ${TEXTS} texts, beside one without owners, durable log`,
    ratio,
    1.03,
  );
}

/** Both, beginning with another one in each round. */
function inTurn<Each>(round: number, one: Each, two: Each): readonly Each[] {
  return round % 2 === 0 ? [one, two] : [two, one];
}

async function haveTurns(own: Runtime): Promise<void> {
  await forEachConcurrent([...Array(TURNS).keys()], 8, async (turn) => {
    const receipt = await own.process("clerk", { type: "ChatRequest", input: `hello ${turn}` });
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

function sqlitePlace(directory: string): Place {
  return {
    name: "durable log",
    open: () => sqliteLog(directory, { durability: "relaxed" }),
    async fill(from, to) {
      using database = new DatabaseSync(join(directory, "log.db"));
      database.exec(`PRAGMA synchronous = OFF; BEGIN;
        CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${to}) SELECT i FROM n;
        INSERT INTO run (rid, run_id, agent, status, head, created, updated, turns, metadata, initial_input, owner)
          SELECT 1000000 + i, 'run_other' || i, 'clerk', ${STATUS}, 0, ${TIME}, ${TIME}, 1, '{}', '"hello ' || i || '"', ${OWNER} FROM n;
        INSERT INTO wait (rid, id, request_id, opened)
          SELECT 1000000 + i, 2, 'req_other' || i || '/' || ${OWNER}, ${TIME} FROM n WHERE i % 10 = 0;
        DROP TABLE n; COMMIT`);
    },
  };
}

function postgresPlace(url: string): Place {
  return {
    name: "PostgreSQL",
    open: () => postgresLog({ url }),
    async fill(from, to) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const numbers = `generate_series(${from}, ${to - 1}) AS i`;
      await client.query(`SET synchronous_commit = off;
        INSERT INTO troupe.run (id, epoch, stored, agent, status, created_at, updated_at, turns, initial_input, belongs_to)
          SELECT 'run_other' || i, 0, true, 'clerk', ${STATUS}, ${TIME}, ${TIME}, 1, '"hello ' || i || '"', ${OWNER} FROM ${numbers};
        INSERT INTO troupe.creation (run) SELECT 'run_other' || i FROM ${numbers};
        INSERT INTO troupe.wait (run, id, request, opened_at)
          SELECT 'run_other' || i, 2, 'req_other' || i || '/' || ${OWNER}, ${TIME} FROM ${numbers} WHERE i % 10 = 0`);
      await client.query("VACUUM ANALYZE");
      await client.end();
    },
  };
}

/** Of the run with the number i, in both engines. */
const OWNER = `'owner-' || i / ${RUNS}`;
const STATUS = "CASE WHEN i % 10 = 0 THEN 2 ELSE 0 END";
/** Around now, so that they lie between the runs of the measured owner. */
const TIME = `${Date.now()} + i - 50000`;

async function inDirectory<Value>(measure: (directory: string) => Promise<Value>): Promise<Value> {
  const directory = mkdtempSync(join(tmpdir(), "troupe-owners-"));
  try {
    return await measure(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
