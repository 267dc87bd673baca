// Measures in simulated time how soon a dead node is found among many, with the real code: node test/cluster/gossip-figures.ts
// [--nodes 100] [--deaths 20] [--seed 1]
import { parseArgs } from "node:util";
import { GossipWorld } from "./gossip-world.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "100" },
    deaths: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
  },
});

const world = new GossipWorld({
  seed: Number(values.seed),
  gossipAbove: 1,
  lossPercent: 5,
  throttledPercent: 30,
  // Each of so many nodes would greet all others in the same second.
  losesGreetings: true,
});
const nodes = await world.start(Number(values.nodes));
await world.pass(20_000);
console.error(`${nodes.length} nodes have joined, ${world.messages} messages`);

const { heartbeats, messages, rows } = world;
await world.pass(60_000);
const perSecond = (now: number, before: number): number => (now - before) / 60;
const quiet = {
  heartbeats: perSecond(world.heartbeats, heartbeats),
  rows: perSecond(world.rows, rows),
  messages: perSecond(world.messages, messages) / nodes.length,
};

const firstMs: number[] = [];
const allMs: number[] = [];
const killed = nodes.slice(0, Number(values.deaths));
for (const node of killed) {
  const atMs = world.nowMs;
  world.kill(node);
  allMs.push(await world.passUntil(() => world.isDeadToAll(node)));
  const [first] = world.judgements.filter(({ judged }) => judged === node.id);
  firstMs.push((first?.atMs ?? Infinity) - atMs);
  await world.pass(2_000);
}
const isKilled = new Set(killed.map(({ id }) => id));
console.log({
  nodes: nodes.length,
  heartbeatsPerSecond: quiet.heartbeats,
  rowsPerSecond: quiet.rows,
  messagesPerNodeAndSecond: quiet.messages,
  foundMs: { median: quantile(firstMs, 0.5), p99: quantile(firstMs, 0.99) },
  knownToAllMs: { median: quantile(allMs, 0.5), p99: quantile(allMs, 0.99) },
  falseDeaths: world.judgements.filter(({ judged }) => !isKilled.has(judged)).length,
});

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
