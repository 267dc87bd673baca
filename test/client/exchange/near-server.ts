// Serves two agents of the endpoint at the address in TROUPE_ENDPOINT, one of which may be asked again. Its log is in the
// directory given as its only argument.
import { createRuntime } from "troupe";
import { httpAgent } from "troupe/client";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";

const [, , directory = "."] = process.argv;
const url = process.env["TROUPE_ENDPOINT"] ?? "";
const agents = [
  httpAgent({ name: "once", purpose: "Is asked once.", url }),
  httpAgent({ name: "again", purpose: "May be asked again.", url, effect: "idempotent" }),
];
const runtime = createRuntime({ agents, log: sqliteLog(directory) });
await runtime.ready();
console.log((await serve(runtime)).url);
