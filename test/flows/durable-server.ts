// Serves all agents over all protocols, with a durable log in the directory given as its only argument, and prints its address.
import { join } from "node:path";
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { fsArtifacts } from "troupe/storage/fs";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { agents } from "./agents.ts";

const [, , directory = "."] = process.argv;
const runtime = createRuntime({
  agents,
  log: sqliteLog(directory),
  artifacts: fsArtifacts(join(directory, "artifacts")),
});
await runtime.ready();
const { url } = await serve(runtime, { port: 0, adapters: await openWires(WIRES) });
console.log(url);
