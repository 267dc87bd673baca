// Serves agents on a durable log. Its only argument is the directory that survives it.
import { createRuntime } from "troupe";
import { ui } from "troupe/adapters/ui";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { payments } from "../../../../agents/payments.ts";
import { ticker } from "../../../../agents/ticker.ts";

const [, , directory = "."] = process.argv;
const runtime = createRuntime({ agents: [payments, ticker], log: sqliteLog(directory) });
await runtime.ready();
const { url } = await serve(runtime, { port: 0, adapters: [ui()] });
console.log(url);
