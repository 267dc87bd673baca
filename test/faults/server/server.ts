// Serves the agents that are killed in the middle of their work, on the built package. Prints "opening"
// before it opens its directory and its address once it listens.
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import { fsArtifacts } from "troupe/storage/fs";
import { DamagedLog, DirectoryInUse, sqliteLog } from "troupe/storage/sqlite";
import { createAgents } from "./agents.ts";
import { openOutside } from "./outside.ts";
import { artifactsWithPoints, dieAt, withPoints } from "./points.ts";

const [, , directory = "", files = "", effects = ""] = process.argv;
const { FAULT_POINT, FAULT_TIMES } = process.env;
const reached = dieAt(FAULT_POINT, Number(FAULT_TIMES ?? 1));

console.log("opening");
const runtime = createRuntime({
  agents: createAgents({ outside: openOutside(effects), reached }),
  log: withPoints(open(), reached),
  artifacts: artifactsWithPoints(fsArtifacts(files), reached),
});
const server = await serve(runtime, { port: 0 });
console.log(server.url);

function open(): ReturnType<typeof sqliteLog> {
  try {
    return sqliteLog(directory);
  } catch (error) {
    console.log((error as Error).message);
    return process.exit(error instanceof DirectoryInUse ? 75 : error instanceof DamagedLog ? 74 : 70);
  }
}
