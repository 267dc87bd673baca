import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import type { Trial } from "../compare/trial.ts";
import { measurePacedTurns } from "../harness/paced-load.ts";
import type { PacedCounter, PacedSample } from "../harness/paced-load.ts";
import { atMost, ms, skipped, times, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { ServerOptions } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { paceMs, TURN_MS, warmUpPaced } from "../parts/turns/paced.ts";
import { engineCpuMs } from "./engine.ts";

/** The turns at the same time, divided among the nodes. */
const CLIENTS = 48;

const COUNTS: readonly number[] = [1, 3];

/** What a turn costs; what a server without a database does not have is missing. */
type Cost = Readonly<Partial<Record<Figure, number>>> & { readonly nodesMs: number };

type Figure = "nodesMs" | "engineMs" | "transactions" | "notifies" | "textMs";

/** Some servers that divide the turns. */
interface MeasuredServers {
  readonly label: string;
  sample(): Promise<Cost>;
  readonly costs: Cost[];
}

/** One and three nodes of a commit, and how much more three cost. */
const NODES_TRIAL: Trial = {
  what: "nodes, paced",
  async open(tree, { warmUpTurns }) {
    const stack = new AsyncDisposableStack();
    try {
      const nodes: MeasuredServers[] = [];
      for (const count of COUNTS) nodes.push(await startNodes(count, { tree, warmUpTurns }, stack));
      return {
        async sample() {
          const figures: Record<string, number> = {};
          let unit: Cost | undefined;
          for (const { label, sample } of nodes) {
            const cost = await sample();
            const { nodesMs, engineMs = Number.NaN, transactions = Number.NaN, textMs = Number.NaN } = cost;
            if (unit !== undefined) {
              figures["CPU of the nodes, × one"] = nodesMs / unit.nodesMs;
              figures["CPU of PostgreSQL, × one"] = engineMs / (unit.engineMs ?? Number.NaN);
            }
            unit ??= cost;
            figures[`CPU ms, ${label}`] = nodesMs;
            figures[`CPU ms of PostgreSQL, ${label}`] = engineMs;
            figures[`transactions, ${label}`] = transactions;
            figures[`text p50 ms, ${label}`] = textMs;
          }
          return figures;
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      };
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  },
};

export const NODES_TRIALS: readonly Trial[] = findPrograms() === undefined ? [] : [NODES_TRIAL];

/**
 * What more nodes cost at the pace of a model, where each client follows its turn on the node that owns it: the same turns on
 * one node and divided among three, each with a database of their own, in alternating rounds. Three processes that share nothing
 * cost more than one too, because each wakes for fewer texts at a time; bare Hono shows how much.
 */
export async function measurePacedNodes({ longRounds, warmUpTurns }: Setup): Promise<Result[]> {
  if (findPrograms() === undefined)
    return [skipped("paced turns of several nodes", "this machine has no PostgreSQL")];
  await using stack = new AsyncDisposableStack();
  const nodes: MeasuredServers[] = [];
  const bare: MeasuredServers[] = [];
  for (const count of COUNTS) {
    nodes.push(await startNodes(count, { warmUpTurns }, stack));
    bare.push(await startBare(count, warmUpTurns, stack));
  }
  const measured = [...nodes, ...bare];
  for (let round = 0; round < longRounds; round += 1)
    for (const servers of measured) servers.costs.push(await servers.sample());
  const head = ["servers", "CPU of the servers", "CPU of PostgreSQL", "transactions", "NOTIFY", "text p50"];
  const rows = measured.map((servers) => {
    const cell = (figure: Figure, show: (value: number) => string): string => {
      const value = middle(servers, figure);
      return Number.isNaN(value) ? "–" : show(value);
    };
    return [
      servers.label,
      cell("nodesMs", ms),
      cell("engineMs", ms),
      cell("transactions", (value) => value.toFixed(1)),
      cell("notifies", (value) => value.toFixed(2)),
      cell("textMs", ms),
    ];
  });
  console.log(
    `\nA turn of 100 texts, one every ${paceMs} ms, ${CLIENTS} at a time, all servers on one core, PostgreSQL on both\n\n${toTable([head, ...rows])}\n`,
  );
  const three = nodes.at(-1);
  const plain = ratioOf(bare, "nodesMs");
  const own = ratioOf(nodes, "nodesMs");
  return [
    atMost("CPU of three nodes for a paced turn, relative to one", own, 1.2),
    {
      what: "the same of three bare Hono servers, relative to one",
      measured: times(plain),
      limit: "",
      met: undefined,
    },
    atMost(
      "CPU of PostgreSQL for a paced turn of three nodes, relative to one",
      ratioOf(nodes, "engineMs"),
      1.2,
    ),
    atMost(
      "NOTIFY of a paced turn, three nodes",
      three ? middle(three, "notifies") : Number.NaN,
      0,
      (value) => value.toFixed(2),
    ),
  ];
}

/** The median of the ratios of all rounds of the last one to the first one. */
function ratioOf(measured: readonly MeasuredServers[], figure: Figure): number {
  const [unit] = measured;
  const ratios = measured
    .at(-1)
    ?.costs.map((cost, round) => (cost[figure] ?? Number.NaN) / (unit?.costs[round]?.[figure] ?? Number.NaN));
  return median(ratios ?? []);
}

function middle({ costs }: MeasuredServers, figure: Figure): number {
  return median(costs.map((cost) => cost[figure] ?? Number.NaN));
}

async function startNodes(
  count: number,
  { tree, warmUpTurns }: { readonly tree?: string; readonly warmUpTurns: number },
  stack: AsyncDisposableStack,
): Promise<MeasuredServers> {
  const programs = findPrograms();
  if (programs === undefined) throw new Error("this machine has no PostgreSQL");
  const database = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
    isSynced: true,
  });
  stack.defer(() => database.remove());
  await database.create();
  await database.start();
  const options = {
    paceMs,
    data: database.url,
    environment: { NODES: "1" },
    ...(tree !== undefined && { tree }),
  };
  const servers = await startServers("postgres", count, { options, warmUpTurns }, stack);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  stack.defer(() => client.end());
  let notifies = 0;
  client.on("notification", () => (notifies += 1));
  await client.query("LISTEN troupe_troupe");
  const readCounts = async (): Promise<Readonly<Record<string, number>>> => {
    const { rows } = await client.query<{ readonly commits: string }>(
      "SELECT xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()",
    );
    return { transactions: Number(rows[0]?.commits), notifies, engineMs: engineCpuMs(database) };
  };
  const label = count === 1 ? "1 node" : `${count} nodes`;
  return { label, costs: [], sample: () => measureServers(servers, readCounts) };
}

async function startBare(
  count: number,
  warmUpTurns: number,
  stack: AsyncDisposableStack,
): Promise<MeasuredServers> {
  const servers = await startServers("bare-hono", count, { options: { paceMs }, warmUpTurns }, stack);
  return { label: `${count} bare Hono`, costs: [], sample: () => measureServers(servers) };
}

async function startServers(
  name: "bare-hono" | "postgres",
  count: number,
  { options, warmUpTurns }: { readonly options: ServerOptions; readonly warmUpTurns: number },
  stack: AsyncDisposableStack,
): Promise<readonly ServerProcess[]> {
  const servers: ServerProcess[] = [];
  while (servers.length < count) servers.push(stack.use(await ServerProcess.start(name, options)));
  await Promise.all(servers.map((server) => warmUpPaced({ server }, warmUpTurns / count)));
  return servers;
}

/** Divides the turns equally, so each server has had as many; what the database counts is that of all turns. */
async function measureServers(servers: readonly ServerProcess[], count?: PacedCounter): Promise<Cost> {
  const load = { clients: CLIENTS / servers.length, turnMs: TURN_MS, ms: 2 * TURN_MS };
  const measurements = await Promise.all(
    servers.map((server, index) =>
      measurePacedTurns(server, { ...load, ...(index === 0 && count !== undefined && { count }) }),
    ),
  );
  await Promise.all(measurements.map(({ drained }) => drained));
  const samples: readonly PacedSample[] = measurements.map(({ sample }) => sample);
  const counts = samples[0]?.counts ?? {};
  const sumOf = (key: "cpuMs" | "textP50Ms"): number => samples.reduce((sum, sample) => sum + sample[key], 0);
  return {
    ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, value / servers.length])),
    nodesMs: sumOf("cpuMs") / servers.length,
    textMs: sumOf("textP50Ms") / servers.length,
  };
}
