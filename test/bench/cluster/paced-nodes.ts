import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
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
import { NODE_LEASE_MS } from "../servers/setting.ts";
import { paceMs, TURN_MS, warmUpPaced } from "../parts/turns/paced.ts";
import { engineCpuMs } from "./engine.ts";

/** The turns at the same time on one node. */
const CLIENTS = 48;

/** How many servers there are, and how many turns each of them has at the same time. */
interface Load {
  readonly count: number;
  readonly clients: number;
}

/** One node, three with as many turns each, and three that divide the turns of one. The first one is the unit. */
const LOADS: readonly Load[] = [
  { count: 1, clients: CLIENTS },
  { count: 3, clients: CLIENTS },
  { count: 3, clients: CLIENTS / 3 },
];

/** What a turn costs; what a server without a database does not have is missing. */
type Cost = Readonly<Partial<Record<Figure, number>>> & { readonly nodesMs: number };

type Figure = "nodesMs" | "engineMs" | "transactions" | "notifies" | "textMs";

/** Some servers under a load. */
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
      const nodes = await startNodes({ tree, warmUpTurns }, stack);
      await setTimeout(NODE_LEASE_MS);
      return {
        async sample() {
          const figures: Record<string, number> = {};
          let unit: Cost | undefined;
          for (const { label, sample } of nodes) {
            const cost = await sample();
            const { nodesMs, engineMs = Number.NaN, transactions = Number.NaN, textMs = Number.NaN } = cost;
            if (unit !== undefined) {
              figures[`CPU of the nodes, × one, ${label}`] = nodesMs / unit.nodesMs;
              figures[`CPU of PostgreSQL, × one, ${label}`] = engineMs / (unit.engineMs ?? Number.NaN);
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
 * What a turn costs at the pace of a model on one node and on three, where each client follows its turn on the node that owns it. One node and three
 * have a database each, and are measured in alternating rounds. Three processes that divide the turns of one cost more than one also if they share nothing,
 * because each wakes for fewer texts at a time; bare Hono shows how much.
 */
export async function measurePacedNodes({ longRounds, warmUpTurns }: Setup): Promise<Result[]> {
  if (findPrograms() === undefined)
    return [skipped("paced turns of several nodes", "this machine has no PostgreSQL")];
  await using stack = new AsyncDisposableStack();
  const nodes = await startNodes({ warmUpTurns }, stack);
  const bare = await startBare(warmUpTurns, stack);
  // Until a node has seen the others for a lease, it looks for runs to continue three times a second.
  await setTimeout(NODE_LEASE_MS);
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
    `\nA turn of 100 texts, one every ${paceMs} ms, all servers on one core, PostgreSQL on both\n\n${toTable([head, ...rows])}\n`,
  );
  return [
    ...LOADS.slice(1).flatMap((load, index) => [
      atMost(`CPU for a paced turn, ${toLabel("node", load)}`, ratioOf(nodes, index + 1, "nodesMs"), 1.2),
      atMost(
        `CPU of PostgreSQL for a paced turn, ${toLabel("node", load)}`,
        ratioOf(nodes, index + 1, "engineMs"),
        1.2,
      ),
      {
        what: `CPU for a paced turn, ${toLabel("bare Hono", load)}`,
        measured: times(ratioOf(bare, index + 1, "nodesMs")),
        limit: "",
        met: undefined,
      },
    ]),
    atMost(
      "NOTIFY of a paced turn, three nodes",
      Math.max(...nodes.slice(1).map((servers) => middle(servers, "notifies"))),
      0,
      (value) => value.toFixed(2),
    ),
  ];
}

/** The median over the rounds of what some servers cost, relative to the first. */
function ratioOf(measured: readonly MeasuredServers[], index: number, figure: Figure): number {
  const [unit] = measured;
  const ratios = measured[index]?.costs.map(
    (cost, round) => (cost[figure] ?? Number.NaN) / (unit?.costs[round]?.[figure] ?? Number.NaN),
  );
  return median(ratios ?? []);
}

function middle({ costs }: MeasuredServers, figure: Figure): number {
  return median(costs.map((cost) => cost[figure] ?? Number.NaN));
}

function toLabel(name: string, { count, clients }: Load): string {
  return `${count} × ${name}, ${clients} turns each`;
}

/** The nodes of each load. Those of equal number are the same. */
async function startNodes(
  { tree, warmUpTurns }: { readonly tree?: string; readonly warmUpTurns: number },
  stack: AsyncDisposableStack,
): Promise<readonly MeasuredServers[]> {
  const programs = findPrograms();
  if (programs === undefined) throw new Error("this machine has no PostgreSQL");
  return startEach("node", async (count) => {
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
    return { servers, readCounts };
  });
}

function startBare(warmUpTurns: number, stack: AsyncDisposableStack): Promise<readonly MeasuredServers[]> {
  return startEach("bare Hono", async (count) => ({
    servers: await startServers("bare-hono", count, { options: { paceMs }, warmUpTurns }, stack),
  }));
}

/** Started servers, and what their database counts. */
interface Started {
  readonly servers: readonly ServerProcess[];
  readonly readCounts?: PacedCounter;
}

async function startEach(
  name: string,
  start: (count: number) => Promise<Started>,
): Promise<readonly MeasuredServers[]> {
  const started = new Map<number, Started>();
  for (const { count } of LOADS) if (!started.has(count)) started.set(count, await start(count));
  return LOADS.map((load) => ({
    label: toLabel(name, load),
    costs: [],
    async sample() {
      const { servers = [], readCounts } = started.get(load.count) ?? {};
      return measureServers(servers, load.clients, readCounts);
    },
  }));
}

async function startServers(
  name: "bare-hono" | "postgres",
  count: number,
  { options, warmUpTurns }: { readonly options: ServerOptions; readonly warmUpTurns: number },
  stack: AsyncDisposableStack,
): Promise<readonly ServerProcess[]> {
  const servers: ServerProcess[] = [];
  while (servers.length < count) servers.push(stack.use(await ServerProcess.start(name, options)));
  await Promise.all(servers.map((server) => warmUpPaced({ server }, warmUpTurns)));
  return servers;
}

/** Gives each server as many turns, so each has had as many; what the database counts is that of all turns. */
async function measureServers(
  servers: readonly ServerProcess[],
  clients: number,
  count?: PacedCounter,
): Promise<Cost> {
  const load = { clients, turnMs: TURN_MS, ms: 2 * TURN_MS };
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
