import { setTimeout } from "node:timers/promises";
import type { Random } from "../../../src/testing/event-log/random.ts";
import { points } from "../../faults/server/points.ts";
import type { NodeProcess } from "./cluster/node-process.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** What happens to nodes under load. */
export const nodeFaults: readonly Scene[] = [
  {
    name: "kill -9 of the owner",
    goalMs: 4_000,
    async play(cluster, random, turns) {
      const victim = cluster.anyNode;
      const ticking = cluster.clients.turnsOn(victim, "ticker", 3, { cancels: false });
      const left = kill(victim, random).then(() => openRuns(cluster));
      await Promise.all([left, ticking, cluster.clients.load({ turns, until: ticking })]);
      return notTaken(cluster, victim, await left, await ticking);
    },
  },
  {
    name: "SIGSTOP for 5 s, then SIGCONT",
    goalMs: 5_000,
    play: (cluster, random, turns) =>
      away(cluster, turns, 5_000, (node) => {
        node.signal("SIGSTOP");
        return () => node.signal("SIGCONT");
      }),
  },
  {
    name: "the owner cut off from the engine for 7 s",
    goalMs: 5_000,
    play: (cluster, random, turns) =>
      away(cluster, turns, 7_000, ({ database }) => {
        if (random.below(2) === 0) database.cut();
        else database.silence();
        return () => database.mend();
      }),
  },
  {
    name: "SIGTERM of each node in turn",
    goalMs: 1_500,
    async play(cluster, random, turns) {
      const wrong: string[] = [];
      const restarts = async (): Promise<void> => {
        for (const node of cluster.nodes) {
          await setTimeout(random.below(300));
          await cluster.startNode();
          const exit = await node.terminate();
          if (exit !== 0) wrong.push(`a node ended with ${exit} after SIGTERM`);
        }
      };
      const ticking = Promise.all(cluster.nodes.map((node) => cluster.clients.turnsOn(node, "ticker", 1)));
      const restarted = restarts();
      await Promise.all([restarted, ticking, cluster.clients.load({ turns, until: restarted })]);
      return wrong;
    },
  },
  {
    name: "a node joins",
    goalMs: 1_000,
    async play(cluster, random, turns) {
      const [node] = cluster.nodes as readonly [NodeProcess];
      const joins = async (): Promise<void> => {
        await setTimeout(random.below(300));
        await cluster.startNode();
      };
      const joined = joins();
      await Promise.all([
        joined,
        cluster.clients.turnsOn(node, "ticker", 2),
        cluster.clients.load({ turns, until: joined }),
      ]);
      // So that there are three again.
      const exit = await node.terminate();
      return exit === 0 ? [] : [`a node ended with ${exit} after SIGTERM`];
    },
  },
];

/** Kills a node, at a random moment or at a point in its code. */
async function kill(node: NodeProcess, random: Random): Promise<void> {
  await setTimeout(300 + random.below(700));
  if (random.below(2) === 0) {
    node.dieAt(points[random.below(points.length)] ?? "before append", 1 + random.below(4));
    await Promise.race([node.exited, setTimeout(1_000)]);
  }
  await node.kill();
}

/** Keeps a node away for a time; the others must take its open runs. `leave` returns what brings the node back. */
async function away(
  cluster: SceneCluster,
  turns: number,
  ms: number,
  leave: (node: NodeProcess) => () => void,
): Promise<readonly string[]> {
  const node = cluster.anyNode;
  const ticking = cluster.clients.turnsOn(node, "ticker", 3, { cancels: false });
  const isAway = async (): Promise<readonly string[]> => {
    await setTimeout(500);
    const comeBack = leave(node);
    const [open] = await Promise.all([openRuns(cluster), setTimeout(ms)]);
    comeBack();
    return open;
  };
  const left = isAway();
  await Promise.all([left, ticking, cluster.clients.load({ turns, until: left })]);
  return notTaken(cluster, node, await left, await ticking);
}

/** The runs with an open turn. */
async function openRuns({ log }: SceneCluster): Promise<readonly string[]> {
  return (await log.open()).map(({ runId }) => runId);
}

/**
 * The runs that a node left open and that no other node has taken. A run whose turn had ended before is idle: it keeps its
 * owner until its next request.
 */
async function notTaken(
  { log }: SceneCluster,
  { id }: NodeProcess,
  left: readonly string[],
  runs: readonly string[],
): Promise<readonly string[]> {
  const entries = await Promise.all(
    runs.filter((runId) => left.includes(runId)).map((runId) => log.run(runId)),
  );
  return entries.flatMap((run) =>
    run?.owner === id ? [`run ${run.runId} still belongs to the node that was away`] : [],
  );
}
