// Measures in simulated time, with the real code, how soon a dead node is found among many and what the nodes send each other:
// node test/cluster/gossip-figures.ts [--nodes 10,100,1000] [--deaths 20] [--seed 1]
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { GossipWorld } from "./gossip-world.ts";
import type { GossipNode } from "./gossip-world.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "10,100,1000" },
    deaths: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
  },
});

for (const count of values.nodes.split(",").map(Number)) await measure(count);

async function measure(count: number): Promise<void> {
  const world = new GossipWorld({
    seed: Number(values.seed),
    gossipAbove: 1,
    lossPercent: 5,
    throttledPercent: 30,
    judgedAfterMs: 100,
  });
  const heapBytes = usedBytes();
  const start = await spent(world, () => world.start(count));
  const nodes = world.nodes.slice();
  console.error(`${count} nodes have joined at once, after ${start.ms} ms and ${start.messages} messages`);
  await world.pass(10_000);
  const bytesOfNode = (usedBytes() - heapBytes) / count;

  // Nothing happens, for as much time of all nodes together.
  const quietMs = Math.max(10_000, 6_000_000 / count);
  const quiet = await spent(world, () => world.pass(quietMs));
  world.countsBytes = true;
  await world.pass(10_000);
  world.countsBytes = false;

  const joined = world.launch();
  const knows = ({ heartbeat }: GossipNode): boolean => heartbeat.find(joined.id)?.state === "active";
  const join = await spent(world, () => world.passUntil(() => nodes.every(knows)));
  const { sent } = joined;
  console.error(`one more is known to all after ${join.ms} ms, and has sent ${sent} messages`);

  // At least half of the nodes live on.
  const killed = nodes.slice(0, Math.min(Number(values.deaths), count / 2));
  const firstMs: number[] = [];
  const allMs: number[] = [];
  for (const node of killed) {
    world.kill(node);
    const foundMs = await world.passUntil(() =>
      world.living.some((one) => one.heartbeat.livenessOf(node.id) === "dead"),
    );
    firstMs.push(foundMs);
    allMs.push(foundMs + (await world.passUntil(() => world.isDeadToAll(node))));
    await world.pass(2_000);
  }
  const isKilled = new Set(killed.map(({ id }) => id));
  const each = (sum: number): number => round(sum / count / (quietMs / 1_000));
  console.log({
    nodes: count,
    deaths: killed.length,
    foundMs: { median: median(firstMs), most: Math.max(...firstMs) },
    knownToAllMs: { median: median(allMs), most: Math.max(...allMs) },
    falseDeaths: world.judgements.filter(({ judged }) => !isKilled.has(judged)).length,
    quietSecondOfANode: {
      messages: each(quiet.messages),
      bytes: round(world.bytes / count / 10),
      heartbeats: each(quiet.heartbeats),
      cpuMs: each(quiet.cpuMs),
    },
    rowsReadPerSecond: round(quiet.rows / (quietMs / 1_000)),
    kilobytesOfANode: round(bytesOfNode / 1_000),
    oneJoins: { knownToAllMs: join.ms, sent, rows: join.rows },
    allStartAtOnce: {
      ms: start.ms,
      cpuSeconds: round(start.cpuMs / 1_000),
      sentByANode: start.messages / count,
    },
  });
}

interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
  readonly messages: number;
  readonly heartbeats: number;
  readonly rows: number;
}

/** What passes while something is done: simulated time, and the CPU of this process, which the simulation needs too. */
async function spent(world: GossipWorld, run: () => Promise<unknown>): Promise<Spent> {
  const { nowMs, messages, heartbeats, rows } = world;
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return {
    ms: world.nowMs - nowMs,
    cpuMs: (user + system) / 1_000,
    messages: world.messages - messages,
    heartbeats: world.heartbeats - heartbeats,
    rows: world.rows - rows,
  };
}

/** The bytes that are in use after a collection of garbage. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;
}

function round(number: number): number {
  return Number(number.toPrecision(3));
}
