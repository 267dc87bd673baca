// A server with two owners, by the header x-user. Its argument: the directory of its log, or the URL of a database. It prints its port
// when it is ready.
import { createRuntime, defineAgent } from "troupe";
import type { Principal } from "troupe";
import { serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";

const [, , place = ""] = process.argv;

const PRINCIPALS: Readonly<Record<string, Principal>> = {
  ann: { id: "ann", owner: "acme", roles: ["user"] },
  bob: { id: "bob", owner: "bolt", roles: ["user"] },
};

const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
const log = place.startsWith("postgres:")
  ? await postgresLog({ url: place, secretsKey: "a key of thirty-two characters .." })
  : sqliteLog(place);
const runtime = createRuntime({ agents: [echo], log });
await runtime.ready();
const { url } = await serve(runtime, {
  authenticate: (request) => PRINCIPALS[request.headers.get("x-user") ?? ""],
});
console.log(new URL(url).port);
