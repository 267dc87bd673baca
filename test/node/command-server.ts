// Serves two agents of the program in TROUPE_PROGRAM, one of which may be started again. Its log is in the directory given as
// its only argument.
import { createRuntime } from "troupe";
import { commandAgent, serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";

const [, , directory = "."] = process.argv;
const program = { command: process.execPath, args: ["-e", process.env["TROUPE_PROGRAM"] ?? ""] };
const agents = [
  commandAgent({ name: "once", purpose: "Is started once.", ...program, env: ["TROUPE_FILE"] }),
  commandAgent({
    name: "again",
    purpose: "May be started again.",
    ...program,
    env: ["TROUPE_FILE"],
    effect: "idempotent",
  }),
];
const runtime = createRuntime({ agents, log: sqliteLog(directory) });
await runtime.ready();
console.log((await serve(runtime)).url);
