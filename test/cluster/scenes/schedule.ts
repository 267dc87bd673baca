import { setTimeout } from "node:timers/promises";
import { pickFor } from "../../../src/cluster/placement.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** The node that sends the requests of a schedule is killed about when one is due. */
export const schedule: Scene = {
  name: "a schedule, its node killed when it is due",
  async play({ engine, seed, startMs }, random) {
    await using cluster = await SceneCluster.open(engine, seed, {
      schema: `clock_${seed}_${random.below(1_000_000)}`,
    });
    // The clocks of these nodes are so fast that the next minute begins soon after one of them has recorded the start of
    // the schedule, at most three seconds after it has joined.
    const dueAt = Date.now() + 4_000 + Math.round(3 * startMs);
    const clockMs = 2 * MINUTE_MS - (dueAt % MINUTE_MS);
    await Promise.all([cluster.startNode({ clockMs }), cluster.startNode({ clockMs })]);
    const leader = pickFor(
      "schedule clock minutely",
      cluster.nodes.map(({ id }) => id),
    );
    const node = cluster.nodes.find(({ id }) => id === leader);
    await setTimeout(Math.max(0, dueAt - Date.now() - 100 + random.below(200)));
    await node?.kill();
    const struck: string[] = [];
    while (struck.length === 0) {
      struck.push(...(await strikes(cluster)));
      await setTimeout(100);
    }
    const wrong = (await cluster.verify()).map(({ what }) => what).concat(cluster.takeCrashes());
    const times = await strikes(cluster);
    if (new Set(times).size !== times.length) wrong.push(`the schedule was called at ${times.join(", ")}`);
    return wrong;
  },
};

const MINUTE_MS = 60_000;

/** The times of the requests of the schedule that have ended. */
async function strikes({ log }: SceneCluster): Promise<readonly string[]> {
  const runId = await log.find({ agent: "clock", name: "schedule-minutely" });
  if (runId === undefined) return [];
  const events = toEncoded((await log.read(runId, { after: 0 })).events).map(
    (text) => JSON.parse(text) as Event,
  );
  return events.flatMap((event) =>
    event.type === "RequestCompleted" && event.depth === 0
      ? [JSON.stringify(event.output ?? event.finish_reason)]
      : [],
  );
}
