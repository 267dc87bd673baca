// A server of the laws under kills, with its options as JSON in the second argument. It prints its address.
import { appendFileSync } from "node:fs";
import { clusterRouter, createRuntime, defineAgent, ended } from "troupe";
import type { Agent, CreateRuntimeOptions, Operation } from "troupe";
import { httpTransport, nodeEnvironment, serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";
import { racers } from "../../laws/races.ts";
import { createTrips } from "../../laws/sagas.ts";
import { findFreeUrl } from "../../machine/free-port.ts";

/** The folder of a SQLite log, or the place in a PostgreSQL, which several nodes share. */
export type Place = string | { readonly url: string; readonly schema: string };

/** How a server is started. */
export interface ServerOptions {
  readonly place: Place;
  /** The file of what was done outside. */
  readonly outside: string;
  readonly retainMs?: number;
}

const { place, outside, retainMs } = JSON.parse(process.argv[3] ?? "") as ServerOptions;

const worker = defineAgent({
  name: "worker",
  purpose: "Works, and fails when it is told to.",
  operations: (own) => ({
    work: own({
      input: z.object({ fails: z.boolean() }),
      async run({ fails }, turn) {
        await turn.sleep(30);
        if (fails) throw new Error("no luck");
      },
    }),
  }),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Notes the ends of turns.",
  memorySchema: z.record(z.string(), z.array(z.string())).default({}),
  operations: (own) => ({
    watch: own({
      input: z.object({ keys: z.array(z.string()) }),
      async run({ keys }, turn) {
        for (const key of keys) await turn.watch(turn.actor(worker, key));
      },
    }),
    ended: own({
      input: ended,
      run({ request_id: id, finish_reason: reason }, turn) {
        const noted = turn.memory.get();
        turn.memory.set({ ...noted, [id]: [...(noted[id] ?? []), reason] });
      },
    }),
    noted: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

const account: Agent<{
  readonly pay: Operation<{ readonly amount: number }, void>;
}> = defineAgent({
  name: "account",
  purpose: "Has money, letters and plans.",
  memorySchema: z.number().default(0),
  messages: { letter: z.string() },
  operations: (own) => ({
    pay: own({
      input: z.object({ amount: z.number() }),
      run: ({ amount }, turn) => turn.memory.set(turn.memory.get() + amount),
    }),
    plan: own({
      input: z.object({}),
      async run(_input, turn) {
        const self = turn.actor(account, turn.self);
        await turn.schedule(self, "pay", { amount: 1 }, { everyMs: 1_000_000_000, id: "interest" });
      },
    }),
    all: own({
      input: z.object({}),
      run: async (_input, turn) => ({
        balance: turn.memory.get(),
        letters: turn.received("letter"),
        schedules: (await turn.schedules()).map(({ id }) => id),
      }),
    }),
  }),
});

async function openEngines(): Promise<Pick<CreateRuntimeOptions, "log" | "environment" | "router">> {
  if (typeof place === "string") return { log: sqliteLog(place, { durability: "relaxed" }) };
  const log = await postgresLog({ ...place, max: 4 });
  const environment = nodeEnvironment();
  const transport = httpTransport({ url: await findFreeUrl(), secret: "shared by all nodes" });
  return { log, environment, router: clusterRouter({ log, transport, environment }) };
}

const trips = createTrips((deed) => appendFileSync(outside, `${JSON.stringify(deed)}\n`), 100);
const agents: readonly Agent[] = [...trips, ...racers, worker, boss, account];
const runtime = createRuntime({
  agents,
  ...(await openEngines()),
  ...(retainMs !== undefined && { retainMs }),
  limits: { turnMs: 15_000 },
});
await runtime.ready();
const { url } = await serve(runtime, { port: 0 });
console.log(url);
