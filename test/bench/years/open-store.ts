// Starts a node on a store of years, and prints as a line of JSON after how long it was ready: open-store.ts PLACE
import { createRuntime } from "troupe";
import { AGENTS } from "./templates.ts";

const place = process.argv[2] ?? "";
const loadedMs = performance.now();
const log = await openLog();
const openMs = performance.now();
const runtime = createRuntime({ agents: AGENTS, log });
await runtime.ready();
const readyMs = performance.now();
const { user, system } = process.cpuUsage();
process.stdout.write(`${JSON.stringify({ loadedMs, openMs, readyMs, cpuMs: (user + system) / 1_000 })}\n`);
await runtime.close();
await log.close();

async function openLog() {
  if (!place.startsWith("postgres:")) return (await import("troupe/storage/sqlite")).sqliteLog(place);
  const secretsKey = "a key of thirty-two characters ..";
  return (await import("troupe/postgres")).postgresLog({ url: place, secretsKey });
}
