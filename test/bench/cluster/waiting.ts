import { execFileSync } from "node:child_process";
import { join } from "node:path";
import pg from "pg";
import { createRuntime } from "troupe";
import { postgresLog } from "troupe/postgres";
import type { PostgresServer } from "../../machine/postgres-server.ts";
import { atMost, kilobytes, megabytes, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { onAllCores } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { asker } from "../servers/runs.ts";

/** The cost of many runs that wait for an answer, for the database and for a node that starts. */
export async function measureWaitingRuns(
  database: PostgresServer,
  { lateRun: runs }: Setup,
): Promise<Result[]> {
  const { url } = database;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const ask = async (text: string): Promise<number> =>
    Number(Object.values((await client.query<Record<string, unknown>>(text)).rows[0] ?? {})[0]);
  try {
    const empty = open(url);
    await waitOnce(url);
    const bytesBefore = await ask(SIZE);
    const indexesBefore = await ask(INDEXES);
    for (const statement of copies(runs)) await client.query(statement);
    if ((await ask(WAITS)) !== runs + 1) throw new Error("not all runs wait");
    await client.query("VACUUM ANALYZE");
    const bytes = (await ask(SIZE)) - bytesBefore;
    const indexes = (await ask(INDEXES)) - indexesBefore;
    const full = open(url);
    console.log(
      `\n${runs} runs that wait: ${kilobytes(bytes / runs)} of disk each, ${kilobytes(indexes / runs)} of it indexes; a node has ${megabytes(empty.rss)} without and ` +
        `${megabytes(full.rss)} with them; ready after ${ms(empty.readyMs)} and ${ms(full.readyMs)}`,
    );
    return [
      atMost(`what is open, with ${runs} runs that wait`, full.openMs, 200, ms),
      atMost("memory of a node more with them", full.rss - empty.rss, 50, megabytes),
    ];
  } finally {
    await client.end();
  }
}

/** What a node costs on a log. */
interface Opened {
  readonly openMs: number;
  readonly readyMs: number;
  readonly rss: number;
}

function open(url: string): Opened {
  const program = join(import.meta.dirname, "open-log.ts");
  const flags = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
  const [command, ...args] = [...onAllCores, process.execPath, ...flags, program, url];
  return JSON.parse(execFileSync(command, args, { encoding: "utf8" })) as Opened;
}

/** Starts a run that waits, and leaves it to others. */
async function waitOnce(url: string): Promise<void> {
  const runtime = createRuntime({ agents: [asker], log: await postgresLog({ url }) });
  const receipt = await runtime.process("asker", { type: "ChatRequest", input: "?" });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await runtime.close();
}

const WAITS = "SELECT count(*) FROM troupe.wait JOIN troupe.run ON run = run.id AND status > 0";

const SIZE = sizeBy("pg_total_relation_size");
const INDEXES = sizeBy("pg_indexes_size");

function sizeBy(measure: string): string {
  return `SELECT sum(${measure}(oid)) FROM pg_class WHERE relnamespace = 'troupe'::regnamespace AND relkind = 'r'`;
}

/** The statements that copy the rows of the run that waits, with other ids. */
function copies(count: number): readonly string[] {
  const id = (column: string): string => `${column} || '_' || copy`;
  const copy = (table: string, changed: Readonly<Record<string, string>>): string => {
    const columns = COLUMNS[table] ?? [];
    const values = columns.map((column) => changed[column] ?? column);
    return `INSERT INTO troupe.${table} (${columns.join(", ")}) SELECT ${values.join(", ")}
      FROM (SELECT * FROM troupe.${table} WHERE ${table === "run" ? "id" : "run"} = (${WAITING})) AS one,
        generate_series(1, ${count}) AS copy`;
  };
  const newRun = { run: id("run") };
  return [
    copy("batch", newRun),
    copy("request", { ...newRun, id: id("id") }),
    copy("wait", { ...newRun, request: id("request"), opened_at: "opened_at + copy" }),
    copy("creation", newRun),
    copy("run", { id: id("id"), started: id("started"), updated_at: "updated_at + copy" }),
  ];
}

const WAITING = "SELECT min(run) FROM troupe.wait";

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  batch: ["run", "head", "n", "count", "records_end", "body", "records"],
  request: ["id", "run", "phase", "created_at", "accepted_n", "accepted_after", "started", "segment"],
  wait: ["run", "id", "request", "opened_at"],
  creation: ["run"],
  run: [
    ..."id epoch owner appends head records bytes stored agent status created_at updated_at turns metadata".split(
      " ",
    ),
    ..."initial_input started last_turn usage snapshot snapshot_head snapshot_records".split(" "),
  ],
};
