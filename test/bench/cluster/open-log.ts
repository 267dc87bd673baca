// Starts a node on the log of a database, and prints what it costs as a line of JSON: open-log.ts URL
import { createRuntime } from "troupe";
import { postgresLog } from "troupe/postgres";
import { asker, memory } from "../servers/runs.ts";

const startedAt = performance.now();
const log = await postgresLog({ url: process.argv[2] ?? "" });
// The first statement of a connection is slower.
await log.run("run_unknown");
const askedAt = performance.now();
await log.open();
const openMs = performance.now() - askedAt;
const runtime = createRuntime({ agents: [asker], log });
await runtime.ready();
const readyMs = performance.now() - startedAt;
process.stdout.write(`${JSON.stringify({ openMs, readyMs, rss: (await memory()).rss })}\n`);
await runtime.close();
