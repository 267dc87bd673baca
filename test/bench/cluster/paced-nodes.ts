import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import { measurePacedTurns } from "../harness/paced-load.ts";
import type { PacedSample } from "../harness/paced-load.ts";
import { atMost, ms, skipped, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { paceMs, TURN_MS, warmUpPaced } from "../parts/turns/paced.ts";
import { engineCpuMs } from "./engine.ts";

/** The turns at the same time, divided among the nodes. */
const CLIENTS = 48;

const COUNTS: readonly number[] = [1, 3];

/** What a turn costs. */
interface Cost {
  readonly nodesMs: number;
  readonly engineMs: number;
  readonly transactions: number;
  readonly notifies: number;
}

/** Some nodes on a database of their own. */
interface MeasuredNodes {
  readonly count: number;
  sample(): Promise<Cost>;
  readonly costs: Cost[];
}

/**
 * What more nodes cost at the pace of a model, where each client follows its turn on the node that owns it: the same turns on
 * one node and divided among three, each with a database of their own, in alternating rounds.
 */
export async function measurePacedNodes({ longRounds, warmUpTurns }: Setup): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined)
    return [skipped("paced turns of several nodes", "this machine has no PostgreSQL")];
  await using stack = new AsyncDisposableStack();
  const measured: MeasuredNodes[] = [];
  for (const count of COUNTS) measured.push(await startNodes(programs, count, warmUpTurns, stack));
  for (let round = 0; round < longRounds; round += 1)
    for (const nodes of measured) nodes.costs.push(await nodes.sample());
  const head = ["nodes", "CPU of the nodes", "CPU of PostgreSQL", "transactions", "NOTIFY"];
  const rows = measured.map((nodes) => [
    String(nodes.count),
    ms(middle(nodes, "nodesMs")),
    ms(middle(nodes, "engineMs")),
    middle(nodes, "transactions").toFixed(1),
    middle(nodes, "notifies").toFixed(2),
  ]);
  console.log(
    `\nA turn of 100 texts, one every ${paceMs} ms, ${CLIENTS} at a time, all nodes on one core, PostgreSQL on both\n\n${toTable([head, ...rows])}\n`,
  );
  const [one, three] = measured;
  if (one === undefined || three === undefined) return [];
  const ratio = (key: keyof Cost): number =>
    median(three.costs.map((cost, round) => cost[key] / (one.costs[round]?.[key] ?? Number.NaN)));
  return [
    atMost("CPU of three nodes for a paced turn, relative to one", ratio("nodesMs"), 1.2),
    atMost("CPU of PostgreSQL for a paced turn of three nodes, relative to one", ratio("engineMs"), 1.2),
    atMost("NOTIFY of a paced turn, three nodes", middle(three, "notifies"), 0, (value) => value.toFixed(2)),
  ];
}

function middle({ costs }: MeasuredNodes, key: keyof Cost): number {
  return median(costs.map((cost) => cost[key]));
}

async function startNodes(
  programs: string,
  count: number,
  warmUpTurns: number,
  stack: AsyncDisposableStack,
): Promise<MeasuredNodes> {
  const database = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
    isSynced: true,
  });
  stack.defer(() => database.remove());
  await database.create();
  await database.start();
  const servers: ServerProcess[] = [];
  while (servers.length < count) {
    const environment = { NODES: "1" };
    servers.push(
      stack.use(await ServerProcess.start("postgres", { paceMs, data: database.url, environment })),
    );
  }
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  stack.defer(() => client.end());
  let notifies = 0;
  client.on("notification", () => (notifies += 1));
  await client.query("LISTEN troupe_troupe");
  await Promise.all(servers.map((server) => warmUpPaced({ server }, warmUpTurns / count)));
  const readCounts = async (): Promise<Readonly<Record<string, number>>> => {
    const { rows } = await client.query<{ readonly commits: string }>(
      "SELECT xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()",
    );
    return { transactions: Number(rows[0]?.commits), notifies, engineMs: engineCpuMs(database) };
  };
  return {
    count,
    costs: [],
    async sample() {
      const load = { clients: CLIENTS / count, turnMs: TURN_MS, ms: 2 * TURN_MS };
      const measurements = await Promise.all(
        servers.map((server, index) =>
          measurePacedTurns(server, { ...load, ...(index === 0 && { count: readCounts }) }),
        ),
      );
      await Promise.all(measurements.map(({ drained }) => drained));
      return toCost(measurements.map(({ sample }) => sample));
    },
  };
}

/** The nodes have equal loads, so each has had as many turns; what the database counts is that of all turns. */
function toCost(samples: readonly PacedSample[]): Cost {
  const counts = samples[0]?.counts ?? {};
  const ofAll = (name: string): number => (counts[name] ?? Number.NaN) / samples.length;
  return {
    nodesMs: samples.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / samples.length,
    engineMs: ofAll("engineMs"),
    transactions: ofAll("transactions"),
    notifies: ofAll("notifies"),
  };
}
