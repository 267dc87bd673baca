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

/** What was done for ann: requests that were read, and turns that were begun. */
let steps = 0;
/** How many there were when the newest request of bob was read. */
let before = 0;

// Bob is told how many steps for ann came between the reading of his request and the beginning of its turn.
const echo = defineAgent({
  name: "echo",
  purpose: "Repeats, or counts.",
  chat(input) {
    if (input === "count") return `steps:${steps - before}`;
    steps += 1;
    return input;
  },
});
const log = place.startsWith("postgres:")
  ? await postgresLog({ url: place, secretsKey: "a key of thirty-two characters .." })
  : sqliteLog(place);
const runtime = createRuntime({ agents: [echo], log });
await runtime.ready();
const { url } = await serve(runtime, {
  authenticate(request) {
    const user = request.headers.get("x-user") ?? "";
    if (user === "ann") steps += 1;
    else before = steps;
    return PRINCIPALS[user];
  },
});
console.log(new URL(url).port);
