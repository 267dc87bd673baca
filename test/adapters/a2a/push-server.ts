// Serves `echo` and `interviewer` over A2A with push notifications, in a data directory that survives kills: its first argument. It
// prints its address.
import { createRuntime } from "troupe";
import { a2a } from "troupe/adapters/a2a";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { createWebhooks } from "troupe/webhooks";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";

const hooks = createWebhooks([], { push: { allowPrivate: true } });
const runtime = createRuntime({
  agents: [echo, interviewer, hooks.agent],
  log: sqliteLog(process.argv[2] ?? "."),
});
await runtime.ready();
const server = await serve(runtime, { port: 0, adapters: [a2a({ push: hooks.push })], listeners: [hooks] });
console.log(server.url);
