// A node of the scenes, as a process: node.ts OPTIONS_JSON. It prints its address and its id as a line of JSON.
import { clusterRouter, createRuntime, defineAgent, operation } from "troupe";
import { httpTransport, nodeEnvironment, serve } from "troupe/node";
import { z } from "zod";
import { createAgents } from "../../../faults/server/agents.ts";
import { openOutside } from "../../../faults/server/outside.ts";
import { artifactsWithPoints, dieAt, withPoints } from "../../../faults/server/points.ts";
import type { Reached } from "../../../faults/server/points.ts";
import { findFreeUrl } from "../../../machine/free-port.ts";
import { openSceneLog } from "./open-log.ts";

/** How a node is started. */
export interface NodeOptions {
  /** The database. */
  readonly url: string;
  /** Its address for listening, if `url` is that of a pooler. */
  readonly listenUrl?: string;
  readonly schema: string;
  /** In how many databases the log is. */
  readonly databases: number;
  /** Whether it uses gossip with any number of other nodes. */
  readonly gossips: boolean;
  /** The file of outside effects. */
  readonly effects: string;
  /** How much its wall clock is fast, in milliseconds. */
  readonly clockMs?: number;
}

const { databases, gossips, effects, clockMs = 0, ...way } = JSON.parse(process.argv[2] ?? "") as NodeOptions;

let armed: Reached = () => {};
const reached: Reached = (point) => armed(point);
process.on("message", ({ point, times }: { readonly point: string; readonly times: number }) => {
  armed = dieAt(point, times);
});
// A node does not outlive the scenes.
process.on("disconnect", () => process.exit(1));

/** Speaks for three seconds, so that a fault finds it in the middle. */
const ticker = speaking("ticker", 3);

/** Speaks for so long that its shard moves meanwhile, which is announced three seconds and a half before. */
const lecturer = speaking("lecturer", 8);

/** Sleeps so long that its run leaves the memory. */
const dreamer = defineAgent({
  name: "dreamer",
  purpose: "Sleeps for six seconds.",
  async chat(input, turn) {
    await turn.sleep(6_000);
    return input;
  },
});

const clock = defineAgent({
  name: "clock",
  purpose: "Is called each minute.",
  operations: {
    strike: operation({ input: z.null(), run: (_, turn) => turn.metadata["scheduled_at"] as string }),
  },
  schedules: { minutely: { cron: "* * * * *", operation: "strike", input: null } },
});

function speaking(name: string, seconds: number): ReturnType<typeof defineAgent> {
  return defineAgent({
    name,
    purpose: `Says a number twenty times a second, for ${seconds} seconds.`,
    async chat(input, turn) {
      for (let tick = 1; tick <= seconds * 20; tick += 1) {
        await turn.sleep(50);
        await turn.text(`${input} ${tick}\n`);
      }
    },
  });
}

const real = nodeEnvironment();
const environment = { ...real, now: () => real.now() + clockMs };
const log = await openSceneLog({ ...way, max: 4 }, databases);
const runtime = createRuntime({
  agents: [
    ...createAgents({ outside: openOutside(effects), reached }),
    ticker,
    lecturer,
    dreamer,
    ...(clockMs === 0 ? [] : [clock]),
  ],
  log: withPoints(log, reached),
  artifacts: artifactsWithPoints(log.artifacts(), reached),
  router: clusterRouter({
    log,
    transport: httpTransport({ url: await findFreeUrl(), secret: "shared by all nodes" }),
    environment,
    ...(gossips && { gossipAbove: 1 }),
  }),
  environment,
});
await runtime.ready();
const server = await serve(runtime, { drain: { drainMs: 500 } });
console.log(JSON.stringify({ url: server.url, node: log.node }));
