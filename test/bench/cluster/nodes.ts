import type { PostgresServer } from "../../machine/postgres-server.ts";
import { measure, warmUp } from "../harness/load.ts";
import { ms, skipped, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { ServerOptions } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { engineCpuMs } from "./engine.ts";
import { findPooler, startPooler } from "./pooler.ts";

/** The turns at the same time, divided among the nodes. */
const CONCURRENCY = 48;

/** The turns of one and of three nodes on one database, also through a pooler in transaction mode. */
export async function measureNodes(database: PostgresServer, setup: Setup): Promise<Result[]> {
  const rows: string[][] = [];
  const measureWith = async (label: string, options: ServerOptions): Promise<void> => {
    for (const count of [1, 3]) {
      const name = `${count === 1 ? "one node" : "three nodes"}${label}`;
      rows.push([name, ...(await measureCount(database, { count, options, setup }))]);
    }
  };
  await measureWith("", { data: database.url });
  const program = findPooler();
  if (program !== undefined) {
    await using pooler = await startPooler(program, database);
    await measureWith(", pooler", { data: pooler.url, environment: { LISTEN: database.url } });
  }
  const head = ["nodes", "turns/s", "CPU of the nodes a turn", "CPU of PostgreSQL a turn"];
  console.log(
    `\nTurns of 100 texts, ${CONCURRENCY} at a time, all nodes on one core, PostgreSQL on both\n\n${toTable([head, ...rows])}`,
  );
  return program === undefined ? [skipped("turns through a pooler", "this machine has no PgBouncer")] : [];
}

/** The figures of some nodes with equal loads. */
async function measureCount(
  database: PostgresServer,
  {
    count,
    options,
    setup,
  }: { readonly count: number; readonly options: ServerOptions; readonly setup: Setup },
): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack();
  const servers: ServerProcess[] = [];
  while (servers.length < count) {
    const environment = { ...options.environment, NODES: "1" };
    servers.push(stack.use(await ServerProcess.start("postgres", { ...options, environment })));
  }
  const load = { concurrency: CONCURRENCY / count, ms: setup.roundMs };
  await Promise.all(servers.map((server) => warmUp({ server, load }, setup.warmUpTurns / count)));
  const turnsPerS: number[] = [];
  const nodesMs: number[] = [];
  const engineMs: number[] = [];
  for (let round = 0; round < setup.longRounds; round += 1) {
    const before = engineCpuMs(database);
    const startedAt = performance.now();
    const samples = await Promise.all(servers.map((server) => measure({ server, load })));
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = samples.reduce((sum, sample) => sum + sample.turnsPerS, 0);
    turnsPerS.push(rate);
    nodesMs.push(samples.reduce((sum, sample) => sum + sample.cpuMs * sample.turnsPerS, 0) / rate);
    engineMs.push((engineCpuMs(database) - before) / (rate * seconds));
  }
  return [median(turnsPerS).toFixed(0), ms(median(nodesMs)), ms(median(engineMs))];
}
