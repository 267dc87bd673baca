// Serves agents that wait on a durable log. Its only argument is the directory that survives it.
import { createRuntime } from "troupe";
import { agentscope } from "troupe/adapters/agentscope";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { interviewer } from "../../../../agents/interviewer.ts";
import { payments } from "../../../../agents/payments.ts";

const [, , directory = "."] = process.argv;
const runtime = createRuntime({ agents: [payments, interviewer], log: sqliteLog(directory) });
await runtime.ready();
const { url } = await serve(runtime, { adapters: [agentscope()] });
console.log(url);
