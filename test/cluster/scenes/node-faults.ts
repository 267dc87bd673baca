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
      const isTaken = ticking.begun.then(() => kill(victim, random)).then(() => taken(cluster, victim));
      await Promise.all([isTaken, ticking.ended, cluster.clients.load({ turns, until: isTaken })]);
      return [];
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
      const ticking = cluster.nodes.map((node) => cluster.clients.turnsOn(node, "ticker", 1));
      const restarts = async (): Promise<void> => {
        await Promise.all(ticking.map(({ begun }) => begun));
        // Before the first restart, as many nodes as there are have just been started.
        cluster.clients.watch.forget();
        for (const node of cluster.nodes) {
          await setTimeout(random.below(300));
          await cluster.startNode();
          const exit = await node.terminate();
          if (exit !== 0) wrong.push(`a node ended with ${exit} after SIGTERM`);
        }
      };
      const restarted = restarts();
      const ended = ticking.map((turns) => turns.ended);
      await Promise.all([restarted, ...ended, cluster.clients.load({ turns, until: restarted })]);
      return wrong;
    },
  },
  {
    name: "a node joins",
    goalMs: 1_000,
    async play(cluster, random, turns) {
      const [node] = cluster.nodes as readonly [NodeProcess];
      const ticking = cluster.clients.turnsOn(node, "ticker", 2);
      const joins = async (): Promise<void> => {
        await ticking.begun;
        await setTimeout(random.below(300));
        await cluster.startNode();
      };
      const joined = joins();
      await Promise.all([joined, ticking.ended, cluster.clients.load({ turns, until: joined })]);
      // So that there are as many as before.
      const exit = await node.terminate();
      return exit === 0 ? [] : [`a node ended with ${exit} after SIGTERM`];
    },
  },
];

/** Kills a node, at a random moment or at a point in its code. */
async function kill(node: NodeProcess, random: Random): Promise<void> {
  await setTimeout(random.below(700));
  if (random.below(2) === 0) {
    node.dieAt(points[random.below(points.length)] ?? "before append", 1 + random.below(4));
    await Promise.race([node.exited, setTimeout(1_000)]);
  }
  await node.kill();
}

/**
 * Keeps a node away for a time, at least until the others have taken its open runs. `leave` returns what brings the node
 * back.
 */
async function away(
  cluster: SceneCluster,
  turns: number,
  ms: number,
  leave: (node: NodeProcess) => () => void,
): Promise<readonly string[]> {
  const node = cluster.anyNode;
  const ticking = cluster.clients.turnsOn(node, "ticker", 3, { cancels: false });
  const isAway = async (): Promise<void> => {
    await ticking.begun;
    const comeBack = leave(node);
    await Promise.all([taken(cluster, node), setTimeout(ms)]);
    comeBack();
  };
  const isBack = isAway();
  await Promise.all([isBack, ticking.ended, cluster.clients.load({ turns, until: isBack })]);
  return [];
}

/**
 * Resolves when no open turn of the ticker is left to a node that is gone: others have taken their runs. A run whose turn
 * has ended keeps its owner until its next request.
 */
async function taken({ log }: SceneCluster, { id }: NodeProcess): Promise<void> {
  for (;;) {
    const { runs } = await log.list({ agent: "ticker", status: "running", limit: 100 });
    if (runs.every(({ node }) => node !== id)) return;
    await setTimeout(50);
  }
}
