// Serves `speaker` with webhooks to a receiver, in a data directory that survives kills. Its arguments are the directory, the
// receiver, and how much faster its time goes than that of the world; it prints its address.
import { createRuntime } from "troupe";
import type { Environment } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { createWebhooks } from "troupe/webhooks";
import { nodeEnvironment } from "../../src/node/environment.ts";
import { speaker } from "./agents.ts";
import { SECRET } from "./receiver.ts";

const [, , directory = ".", url = "", speed = "1"] = process.argv;

/** Time that goes faster, and on where an earlier process has left it. */
function hurried(factor: number): Environment {
  const real = nodeEnvironment();
  return {
    ...real,
    now: () => START + (real.now() - START) * factor,
    monotonic: () => real.monotonic() * factor,
    timer: (ms, fire, options) => real.timer(ms / factor, fire, options),
    alarm: (atMs, fire) => real.alarm(START + (atMs - START) / factor, fire),
  };
}

/** The start of 2026. */
const START = Date.UTC(2026, 0, 1);

const hooks = createWebhooks([{ url, on: ["end"], secret: SECRET, name: "desk", allowPrivate: true }]);
const runtime = createRuntime({
  agents: [speaker, hooks.agent],
  log: sqliteLog(directory, { durability: "relaxed" }),
  environment: hurried(Number(speed)),
  // While a request is on its way, time that goes so fast counts as time in which the turn works.
  limits: { turnMs: 1e12 },
});
await runtime.ready();
const server = await serve(runtime, { port: 0, listeners: [hooks] });
console.log(server.url);
