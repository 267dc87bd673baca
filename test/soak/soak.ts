// Mixed load on both engines for a long time, with kills, and a verdict on what may not grow: memory, descriptors, write-ahead logs,
// dead rows, the lag of the event loop. npm run soak [-- --minutes 120]
import { mkdtempSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { newProject } from "../deploys/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { findPrograms, PostgresServer } from "../machine/postgres-server.ts";
import { clusterNode, Node } from "../proxies/node.ts";
import { AGENTS, Clients } from "./clients.ts";
import { judge } from "./verdict.ts";
import type { Series } from "./verdict.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "120" } } });
const minutes = Number(values.minutes);
if (!(minutes >= 1)) throw new Error("--minutes is a number from 1 on");

/** Idle runs go after some seconds, so that the tables reach the size at which they stay. */
const RETAIN = ["--retain-days", String(10 / 86_400)];

const SAMPLE_MS = 2_000;
const CLIENTS = 3;
const MB = 1_048_576;

const programs = findPrograms();
if (programs === undefined) throw new Error("there is no PostgreSQL on this machine");
await using stack = new AsyncDisposableStack();
const database = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
  settings: ["max_wal_size=64MB", "min_wal_size=32MB", "checkpoint_timeout=30s", "autovacuum_naptime=5s"],
});
stack.defer(() => database.remove());
await database.create();
await database.start();
const project = await newProject();
stack.defer(() => project.remove());
await writeFile(join(project.folder, "agents/all.ts"), AGENTS);

const alone = async (data: string): Promise<Node> =>
  new Node(project.folder, await findFreePort(), { args: ["--data", data, ...RETAIN] });
const shared = async (data: string): Promise<Node> =>
  clusterNode(project.folder, database.url, await findFreePort(), await findFreePort(), [
    "--data",
    data,
    ...RETAIN,
  ]);
// One of each kind stays, so that what leaks has all the time to show; the others are killed.
const steady = { sqlite: await alone("steady"), postgres: await shared("one") };
const killed = [await alone("killed"), await shared("two")] as const;
const COLLECTS = {
  NODE_OPTIONS: `--expose-gc --import ${new URL("collect-garbage.ts", import.meta.url).href}`,
};
for (const [nodes, env] of [
  [Object.values(steady), COLLECTS],
  [killed, {}],
] as const)
  for (const node of nodes) {
    stack.defer(() => node.kill());
    await node.start(env);
  }

const groups = [
  new Clients("sqlite", [steady.sqlite.address]),
  new Clients("sqlite-killed", [killed[0].address]),
  new Clients("postgres", [steady.postgres.address, killed[1].address]),
];
const client = new pg.Client({ connectionString: database.url });
await client.connect();
stack.defer(() => client.end());

const measured = new Map<string, number[]>();
function add(name: string, value: number): void {
  const known = measured.get(name);
  if (known === undefined) measured.set(name, [value]);
  else known.push(value);
}

async function sample(): Promise<void> {
  for (const [engine, node] of Object.entries(steady)) {
    const text = await (await fetch(`http://${node.address}/metrics`)).text();
    const read = (metric: string): number => Number(new RegExp(`^${metric} (.*)$`, "m").exec(text)?.[1]);
    add(`${engine}: RSS`, read("process_resident_memory_bytes") / MB);
    add(`${engine}: heap`, read("nodejs_heap_size_used_bytes") / MB);
    add(`${engine}: descriptors`, read("process_open_fds"));
    add(`${engine}: event-loop lag`, read("nodejs_eventloop_lag_p99_seconds") * 1_000);
  }
  const file = (name: string): number =>
    statSync(join(project.folder, "steady", name), { throwIfNoEntry: false })?.size ?? 0;
  add("sqlite: write-ahead log", file("log.db-wal") / MB);
  add("sqlite: database", file("log.db") / MB);
  const { rows } = await client.query<{ readonly wal: number; readonly size: number; readonly dead: number }>(
    `SELECT (SELECT sum(size) FROM pg_ls_waldir())::float8 AS wal, pg_database_size(current_database())::float8 AS size,
      (SELECT sum(n_dead_tup) FROM pg_stat_user_tables)::float8 AS dead`,
  );
  const [{ wal, size, dead } = { wal: NaN, size: NaN, dead: NaN }] = rows;
  add("postgres: write-ahead log", wal / MB);
  add("postgres: database", size / MB);
  add("postgres: dead rows", dead / 1_000);
}

/** What means nothing in a series, by the end of its name. */
const LEAST: Readonly<Record<string, readonly [unit: string, least: number]>> = {
  // Once each, V8's young generation grows by 64 MB, and the page caches of SQLite's connections fill up, 16 MB each. In a short
  // run, or on a loaded machine, that is after the warm-up.
  RSS: ["MB", minutes < 30 ? 128 : 64],
  heap: ["MB", 15],
  descriptors: ["", 4],
  "event-loop lag": ["ms", 10],
  "write-ahead log": ["MB", 32],
  database: ["MB", 24],
  "dead rows": ["thousand", 10],
};

let isOver = false;
const working = Promise.all(groups.map((group) => group.run(CLIENTS, () => isOver)));
const startedMs = performance.now();
const endMs = startedMs + minutes * 60_000;
const killEveryMs = Math.min(600_000, (minutes * 60_000) / 5);
let [kills, killMs] = [0, startedMs + killEveryMs];
let killing: Promise<void> = Promise.resolve();
while (performance.now() < endMs) {
  await sample();
  if (performance.now() > killMs) {
    killMs += killEveryMs;
    kills += 1;
    const node = killed[kills % killed.length] as Node;
    killing = killing.then(() => node.kill()).then(() => node.start());
    process.stderr.write(
      `${Math.round((performance.now() - startedMs) / 1_000)} s: ${groups.map(({ turns }) => turns).join(", ")} turns, ${kills} kills\n`,
    );
  }
  await setTimeout(SAMPLE_MS);
}
isOver = true;
await killing;
await working;

const faults = groups.flatMap((group) => group.faults);
const lines = Array.from(measured, ([name, series]) => {
  const [unit, least] = LEAST[name.replace(/^\w+: /, "")] ?? ["", 0];
  const one: Series = { name, unit, values: series, least, hasTeeth: name.endsWith("heap") };
  const { isFlat, growth, noise, middle } = judge(one);
  if (!isFlat)
    faults.push(`${name} has grown by ${growth.toFixed(1)} ${unit}, and swings by ${noise.toFixed(1)}`);
  return `${isFlat ? "flat " : "GROWS"} ${name.padEnd(28)} ${middle.toFixed(1).padStart(8)} ${unit.padEnd(8)} growth ${growth.toFixed(2).padStart(7)}, noise ${noise.toFixed(2).padStart(7)}`;
});
process.stdout.write(
  `${lines.join("\n")}\n${minutes} minutes, ${groups.map(({ turns }) => turns).join(", ")} turns, ${kills} kills, ${faults.length} faults\n`,
);
for (const fault of faults.slice(0, 20)) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
