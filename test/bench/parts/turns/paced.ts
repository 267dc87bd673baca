import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { findPrograms, PostgresServer } from "../../../machine/postgres-server.ts";
import { engineCpuMs } from "../../cluster/engine.ts";
import type { Trial } from "../../compare/trial.ts";
import { Connection, toRequestText } from "../../harness/connection.ts";
import { measurePacedTurns } from "../../harness/paced-load.ts";
import type { PacedCounter, PacedLoad, PacedSample } from "../../harness/paced-load.ts";
import { atMost, kilobytes, ms, skipped, times, toTable } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import { ServerProcess } from "../../harness/server-process.ts";
import type { ServerName, ServerOptions } from "../../harness/server-process.ts";
import type { Setup } from "../../harness/setup.ts";
import { WARM_UP } from "../../servers/setting.ts";
import { median, percentile } from "../../harness/statistics.ts";

/** What a model does: a text of about four tokens, fifty times a second. */
export const paceMs = 20;

/** What a turn of a hundred texts takes, and what its call and its end add on a loaded machine. */
export const TURN_MS = 2_200;

const CLIENTS: readonly number[] = [1, 32, 500];
const QUICK_CLIENTS: readonly number[] = [1, 32];

const ROUNDS = 5;

/** The load for which goals are given. */
const GOAL_CLIENTS = 32;

type Row = readonly [
  label: string,
  name: ServerName,
  options: ServerOptions,
  asked?: Pick<PacedLoad, "body" | "path">,
];

const ROWS: readonly Row[] = [
  ["memory log", "memory", { paceMs }],
  ["memory log, no window", "memory", { paceMs, windowMs: 0 }],
  ["durable log", "durable", { paceMs }],
  ["durable log, no window", "durable", { paceMs, windowMs: 0 }],
  ["log in PostgreSQL", "postgres", { paceMs }],
  ["log in PostgreSQL, no window", "postgres", { paceMs, windowMs: 0 }],
  ["raw socket writes, nothing kept", "raw-socket", { paceMs }],
  ["bare node:http, nothing kept", "bare-node", { paceMs }],
  // What waiting for the model costs: all texts are one write, shortly before the end.
  ["bare node:http, a turn in one write", "bare-node", { paceMs, gatherMs: 1_900 }],
  ["bare Hono, nothing kept", "bare-hono", { paceMs }],
];

/** Those with a log, as it is by default. */
const LOGS: ReadonlySet<string> = new Set(["memory log", "durable log", "log in PostgreSQL"]);

/** What a quick measurement has of them. */
const QUICK_ROWS: ReadonlySet<string> = new Set([
  "memory log",
  "durable log",
  "log in PostgreSQL",
  "bare node:http, nothing kept",
  "bare Hono, nothing kept",
]);

/** Other frameworks. Mastra is installed in a folder of its own. */
const PEERS: readonly Row[] = [
  ["AI SDK, nothing kept", "ai-sdk", { paceMs }],
  [
    "Mastra, nothing kept",
    "mastra",
    { paceMs, environment: { MASTRA_TELEMETRY_DISABLED: "1" } },
    { path: "/api/agents/echo/stream", body: { messages: [{ role: "user", content: "hello" }] } },
  ],
];

const MASTRA = join(import.meta.dirname, "../../peers/mastra");

export const PACED_TRIALS: readonly Trial[] = ROWS.filter(
  ([label, name]) => LOGS.has(label) && (name !== "postgres" || findPrograms() !== undefined),
).map(([label, name, options]) => ({
  what: `${label}, paced`,
  async open(tree) {
    const stack = new AsyncDisposableStack();
    try {
      const started = await startServer([label, name, { ...options, tree }], stack);
      if (started === undefined) throw new Error("this machine has no PostgreSQL");
      const { server, count } = started;
      // Those of another commit may not know the input of a warm-up.
      await warmUpPaced({ server }, 0, 2_000);
      return {
        async sample() {
          const load = { clients: GOAL_CLIENTS, turnMs: TURN_MS, ms: 2 * TURN_MS, count };
          const { sample, drained } = await measurePacedTurns(server, load);
          await drained;
          const { cpuMs, diskBytes, firstP50Ms, textP50Ms, counts } = sample;
          return {
            "CPU ms a turn": cpuMs,
            ...(diskBytes > 0 && { "disk bytes a turn": diskBytes }),
            "first event p50 ms": firstP50Ms,
            "text p50 ms": textP50Ms,
            ...counts,
          };
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      };
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  },
}));

/** The cost of turns at the pace of a model, with a call of a tool in the middle of each. */
export async function measurePaced({ isQuick, warmUpTurns, peers = false }: Setup): Promise<Result[]> {
  await using stack = new AsyncDisposableStack();
  const results: Result[] = [];
  const rows = [...(peers ? PEERS : []), ...ROWS.filter(([label]) => !isQuick || QUICK_ROWS.has(label))];
  const measured: MeasuredServer[] = [];
  for (const row of rows) {
    const started = await startServer(row, stack);
    if (started !== undefined) measured.push(started);
  }
  if (peers && !isInstalled(MASTRA)) console.log(`Mastra is measured after: npm install --prefix ${MASTRA}`);
  if (findPrograms() === undefined)
    results.push(skipped("paced turns with a log in PostgreSQL", "this machine has no PostgreSQL"));
  await Promise.all(measured.map((server) => warmUpPaced(server, warmUpTurns)));
  for (const clients of isQuick ? QUICK_CLIENTS : CLIENTS) {
    const of = await measureRounds(measured, clients, isQuick);
    console.log(
      `\nA turn of 100 texts, one every ${paceMs} ms, with a call in the middle, ${clients} at a time\n\n${toPacedTable(of)}\n`,
    );
    if (clients === 1) results.push(...judgeIdle(of));
    if (clients === GOAL_CLIENTS) results.push(...judgeLoaded(of));
  }
  return results;
}

/** Measures the servers in alternating rounds, and prints each round. */
async function measureRounds(
  measured: readonly MeasuredServer[],
  clients: number,
  isQuick: boolean,
): Promise<ReadonlyMap<string, readonly PacedSample[]>> {
  const of = new Map(measured.map(({ label }) => [label, [] as PacedSample[]]));
  for (let round = 1; round <= ROUNDS; round += 1) {
    const draining: Promise<unknown>[] = [];
    for (const { label, server, asked, count } of measured) {
      // One client has nobody after whom it could begin.
      const turnMs = clients === 1 ? 0 : TURN_MS;
      const load = { ...asked, clients, turnMs, ms: (isQuick ? 1.2 : 2) * TURN_MS, count };
      const { sample, drained } = await measurePacedTurns(server, load);
      of.get(label)?.push(sample);
      draining.push(drained);
    }
    await Promise.all(draining);
    const costs = [...of].map(([label, samples]) => `${label} ${ms(samples.at(-1)?.cpuMs ?? Number.NaN)}`);
    console.log(`${clients} at a time, round ${round}: ${costs.join(", ")}`);
  }
  return of;
}

interface MeasuredServer {
  readonly label: string;
  readonly server: ServerProcess;
  readonly asked?: Pick<PacedLoad, "body" | "path">;
  readonly count: PacedCounter;
}

async function startServer(
  [label, name, options, asked = {}]: Row,
  stack: AsyncDisposableStack,
): Promise<MeasuredServer | undefined> {
  if (name === "postgres") {
    const programs = findPrograms();
    if (programs === undefined) return undefined;
    const database = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
      isSynced: true,
    });
    stack.defer(() => database.remove());
    await database.create();
    await database.start();
    const server = stack.use(await ServerProcess.start(name, { ...options, data: database.url }));
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    stack.defer(() => client.end());
    return { label, server, count: () => countPostgres(client, database) };
  }
  if (name === "durable") {
    const data = mkdtempSync(join(tmpdir(), "troupe-bench-"));
    stack.defer(() => rmSync(data, { recursive: true, force: true }));
    const server = stack.use(await ServerProcess.start(name, { ...options, data }));
    const database = new DatabaseSync(join(data, "log.db"), { readOnly: true });
    stack.defer(() => database.close());
    return { label, server, count: async () => countSqlite(database) };
  }
  if (name === "mastra" && !isInstalled(MASTRA)) return undefined;
  const server = stack.use(await ServerProcess.start(name, options));
  return { label, server, asked, count: async () => ({}) };
}

function isInstalled(folder: string): boolean {
  return existsSync(join(folder, "node_modules"));
}

/** Some turns at the pace of a model, and before them many as fast as they can be, which run mostly the same code. */
export async function warmUpPaced(
  { server, asked }: Pick<MeasuredServer, "asked" | "server">,
  turns: number,
  pacedTurns: number = 300,
): Promise<void> {
  // Servers of other frameworks have requests of their own.
  if (asked?.path === undefined && server.name !== "ai-sdk") await warmUpAtOnce(server, turns);
  const clients = 100;
  const ms = (pacedTurns / clients) * TURN_MS;
  const { drained } = await measurePacedTurns(server, { ...asked, clients, turnMs: TURN_MS, ms });
  await drained;
}

async function warmUpAtOnce(server: ServerProcess, turns: number): Promise<void> {
  let left = turns;
  const run = async (): Promise<void> => {
    const connection = new Connection(server.port);
    while ((left -= 1) >= 0) {
      const request = { type: "ChatRequest", input: WARM_UP, request_id: randomUUID() };
      await connection.request(toRequestText("POST", "/stream_request", request));
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: GOAL_CLIENTS }, run));
}

/** The rows of events and the transactions so far. */
function countSqlite(database: DatabaseSync): Readonly<Record<string, number>> {
  const numberOf = (query: string): number => Number(Object.values(database.prepare(query).get() ?? {})[0]);
  const commits = numberOf("SELECT coalesce(max(n), 0) FROM batch");
  // The row of each transaction has its small appends.
  return { rows: commits + numberOf("SELECT coalesce(max(seq), 0) FROM chunk"), commits };
}

/** The rows of events, the transactions, the bytes of the write-ahead log and the CPU time of the database so far. */
async function countPostgres(
  client: pg.Client,
  database: PostgresServer,
): Promise<Readonly<Record<string, number>>> {
  // The statistics of a connection are written after a statement when the last ones are a second old.
  const { rows } = await client.query<Record<string, string>>(`SELECT
    (SELECT sum(n_tup_ins) FROM pg_stat_user_tables
      WHERE schemaname = 'troupe' AND relname IN ('batch', 'recent')) AS rows,
    (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits,
    pg_current_wal_insert_lsn() - '0/0' AS wal`);
  const numbers = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)] as const);
  return { ...Object.fromEntries(numbers), engineMs: engineCpuMs(database) };
}

function toPacedTable(of: ReadonlyMap<string, readonly PacedSample[]>): string {
  const unit = of.get("bare Hono, nothing kept") ?? [];
  const head = [
    "server",
    "CPU a turn (middle half)",
    "× bare Hono",
    "first event p50",
    "text p50, p99",
    "writes",
    "rows",
    "commits",
    "disk or WAL",
    "CPU of PostgreSQL",
  ];
  const rows = [...of].map(([label, samples]) => {
    const costs = samples.map(({ cpuMs }) => cpuMs);
    const counted = (name: string, show: (value: number) => string): string =>
      samples[0]?.counts[name] === undefined ? "–" : show(countOf(samples, name));
    const number = (value: number): string => value.toFixed(1);
    const disk = middleOf(samples, "diskBytes");
    return [
      label,
      `${ms(median(costs))} (${percentile(costs, 0.25).toFixed(2)} to ${percentile(costs, 0.75).toFixed(2)})`,
      ratioTo(samples, unit).toFixed(2),
      ms(middleOf(samples, "firstP50Ms")),
      `${ms(middleOf(samples, "textP50Ms"))}, ${ms(middleOf(samples, "textP99Ms"))}`,
      number(middleOf(samples, "writes")),
      counted("rows", number),
      counted("commits", number),
      samples[0]?.counts["wal"] === undefined
        ? disk === 0
          ? "–"
          : kilobytes(disk)
        : counted("wal", kilobytes),
      counted("engineMs", ms),
    ];
  });
  return toTable([head, ...rows]);
}

function judgeIdle(of: ReadonlyMap<string, readonly PacedSample[]>): Result[] {
  return ["durable log", "log in PostgreSQL"].flatMap((label) => {
    const added = addedMs(of, label);
    return added === undefined
      ? []
      : [atMost(`wait of a paced text, p50, one client, ${label}`, added, 2, ms)];
  });
}

function judgeLoaded(of: ReadonlyMap<string, readonly PacedSample[]>): Result[] {
  const results: Result[] = [];
  const hono = of.get("bare Hono, nothing kept") ?? [];
  const durable = of.get("durable log") ?? [];
  const plain = of.get("durable log, no window") ?? [];
  results.push(
    atMost(
      "CPU of a paced turn, memory log, relative to bare Hono",
      ratioTo(of.get("memory log") ?? [], hono),
      0.7,
    ),
    atMost("CPU of a paced turn, durable log, relative to bare Hono", ratioTo(durable, hono), 0.85),
    atMost("rows of a paced turn, durable log", countOf(durable, "rows"), 25, (value) => value.toFixed(1)),
  );
  if (plain.length > 0)
    results.push(
      atMost(
        "bytes that a paced turn writes to the disk, durable log, relative to no window",
        middleOf(durable, "diskBytes") / middleOf(plain, "diskBytes"),
        1 / 3,
        times,
      ),
    );
  const nodes = of.get("log in PostgreSQL");
  if (nodes !== undefined)
    results.push(
      atMost("rows of a paced turn, log in PostgreSQL", countOf(nodes, "rows"), 25, (value) =>
        value.toFixed(1),
      ),
      atMost("write-ahead log of a paced turn, log in PostgreSQL", countOf(nodes, "wal"), 15_000, kilobytes),
      atMost("CPU of PostgreSQL of a paced turn", countOf(nodes, "engineMs"), 3, ms),
    );
  for (const label of ["memory log", "durable log", "log in PostgreSQL"]) {
    const added = addedMs(of, label);
    if (added !== undefined)
      results.push(atMost(`wait of a paced text, p50, ${GOAL_CLIENTS} clients, ${label}`, added, 30, ms));
  }
  return results;
}

/** How much later a text arrives with the window than without, or than from a server that stores nothing. */
function addedMs(of: ReadonlyMap<string, readonly PacedSample[]>, label: string): number | undefined {
  const own = of.get(label);
  const plain = of.get(`${label}, no window`) ?? of.get("bare Hono, nothing kept");
  if (own === undefined || plain === undefined) return undefined;
  return middleOf(own, "textP50Ms") - middleOf(plain, "textP50Ms");
}

function middleOf(samples: readonly PacedSample[], key: Exclude<keyof PacedSample, "counts">): number {
  return median(samples.map((sample) => sample[key]));
}

function countOf(samples: readonly PacedSample[], name: string): number {
  return median(samples.map(({ counts }) => counts[name] ?? Number.NaN));
}

/** The median of the ratios of all rounds. */
function ratioTo(own: readonly PacedSample[], unit: readonly PacedSample[]): number {
  return median(own.map(({ cpuMs }, round) => cpuMs / (unit[round]?.cpuMs ?? Number.NaN)));
}
