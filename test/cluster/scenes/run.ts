// Plays all scenes of a cluster, round after round, and prints the results: node test/cluster/scenes/run.ts
// [--cycles 200] [--seed 1] [--turns 40] [--lanes 1] [--only WORDS] [--pooler]
// [--databases 1] [--nodes 3] [--gossip] [--rest 0]
import { parseArgs } from "node:util";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import { findPooler } from "../../bench/cluster/pooler.ts";
import { SceneTable } from "./scene-table.ts";
import { playScenes, scenes, severalScenes } from "./scenes.ts";

const { values } = parseArgs({
  options: {
    cycles: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    turns: { type: "string", default: "40" },
    /** How long a client rests between its turns, in milliseconds: without a rest they take all cores that there are. */
    rest: { type: "string", default: "0" },
    lanes: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    databases: { type: "string", default: "1" },
    nodes: { type: "string", default: "3" },
    pooler: { type: "boolean", default: false },
    gossip: { type: "boolean", default: false },
  },
});
const [cycles, firstSeed, turns] = [Number(values.cycles), Number(values.seed), Number(values.turns)];
const [databases, nodes] = [Number(values.databases), Number(values.nodes)];
if (!(nodes >= 3)) throw new Error("--nodes is a number from 3 on: the scenes need three");
const all = databases > 1 ? [...scenes, ...severalScenes] : scenes;
const chosen = all.filter(({ name }) => name.includes(values.only));
if (chosen.length === 0) throw new Error(`no scene has "${values.only}" in its name`);

const pooler = values.pooler ? findPooler() : undefined;
if (values.pooler && pooler === undefined) throw new Error("there is no PgBouncer on this machine");

const table = new SceneTable(chosen);
const startedAt = performance.now();
let next = firstSeed;
let printed = 0;

async function lane(): Promise<void> {
  while (next < firstSeed + cycles) {
    const seed = next;
    next += 1;
    await playScenes(shuffle(chosen, seed), {
      seed,
      turns,
      restMs: Number(values.rest),
      table,
      databases,
      nodes,
      gossips: values.gossip,
      ...(pooler !== undefined && { pooler }),
    });
    for (const line of table.violations.slice(printed)) console.error(line);
    printed = table.violations.length;
    console.error(`${Math.round((performance.now() - startedAt) / 1_000)} s, seed ${seed} is played`);
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => report());
await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
report();

/** Prints what was played, and ends. The nodes end with this process, and so do the servers. */
function report(): never {
  for (const line of [...table.violations.slice(printed), ...table.slow]) console.error(line);
  console.log(String(table));
  console.log(`\n${Math.round((performance.now() - startedAt) / 1_000)} s, from seed ${firstSeed} on.`);
  return process.exit(table.violations.length > 0 ? 1 : 0);
}

/** The scenes in the order of a seed. */
function shuffle<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const random = createRandom(seed);
  return items
    .map((item) => ({ item, place: random.below(2 ** 30) }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
