import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import { measurePacedTurns } from "../harness/paced-load.ts";
import type { PacedSample } from "../harness/paced-load.ts";
import { atLeast, kilobytes, ms, skipped, times, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { paceMs, TURN_MS, warmUpPaced } from "../parts/turns/paced.ts";
import { engineCpuMs } from "./engine.ts";

/** The turns at the same time for each of several databases. */
const CLIENTS = 12;
const DATABASES = 4;

/** What is counted of a database, for a turn of all databases. */
const COUNTED = ["cpu", "wal", "commits"] as const;

/** A node on a log in some databases. */
interface Measured {
  readonly name: string;
  readonly databases: number;
  sample(): Promise<PacedSample>;
  readonly samples: PacedSample[];
}

/**
 * What each of four databases does for a turn at the pace of a model, beside what one does that has them all: with as many turns as each of the four
 * has, and with as many as they have together, in alternating rounds. All share the cores of this machine, so this counts work and does not show how much
 * four machines carry; with the first database as the limit, they carry so many times what one does.
 */
export async function measureDatabases({ longRounds, warmUpTurns }: Setup): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined) return [skipped("turns in four databases", "this machine has no PostgreSQL")];
  await using stack = new AsyncDisposableStack();
  const measured: Measured[] = [];
  for (const [databases, clients] of [
    [1, CLIENTS],
    [1, CLIENTS * DATABASES],
    [DATABASES, CLIENTS * DATABASES],
  ] as const)
    measured.push(await start(programs, { databases, clients, warmUpTurns }, stack));
  for (let round = 0; round < longRounds; round += 1)
    for (const node of measured) node.samples.push(await node.sample());
  const head = ["database", "CPU of PostgreSQL", "write-ahead log", "commits"];
  const rows = measured.flatMap((node) =>
    Array.from({ length: node.databases }, (_, at) => [
      node.databases === 1 ? node.name : `${node.name}, number ${at + 1}`,
      ms(middle(node, "cpu", at)),
      kilobytes(middle(node, "wal", at)),
      middle(node, "commits", at).toFixed(1),
    ]),
  );
  console.log(
    `\nA turn of 100 texts, one every ${paceMs} ms, by all turns of the log\n\n${toTable([head, ...rows])}\n`,
  );
  const [alone, together, four] = measured;
  if (alone === undefined || together === undefined || four === undefined) return [];
  return COUNTED.flatMap((what) =>
    [alone, together].flatMap((one) => {
      const all = Array.from({ length: DATABASES }, (_, at) => at);
      const busiest = ratio(one, four, what, (of) => Math.max(...all.map(of)));
      const balanced = ratio(one, four, what, (of) => all.reduce((sum, at) => sum + of(at), 0) / DATABASES);
      const name = `${DATABASES} databases carry of ${one.name}, by ${what}`;
      return [
        atLeast(`${name} of the busiest`, busiest, 3.5, times),
        atLeast(`${name}, with shards moved until all do the same`, balanced, 3.5, times),
      ];
    }),
  );
}

/** The median over the rounds of what one database does for a turn, beside one of several. */
function ratio(
  one: Measured,
  several: Measured,
  what: string,
  choose: (of: (at: number) => number) => number,
): number {
  return median(
    one.samples.map((sample, round) => {
      const other = several.samples[round]?.counts ?? {};
      return (
        (sample.counts[`${what} 0`] ?? Number.NaN) / choose((at) => other[`${what} ${at}`] ?? Number.NaN)
      );
    }),
  );
}

function middle({ samples }: Measured, what: string, at: number): number {
  return median(samples.map(({ counts }) => counts[`${what} ${at}`] ?? Number.NaN));
}

async function start(
  programs: string,
  {
    databases,
    clients,
    warmUpTurns,
  }: { readonly databases: number; readonly clients: number; readonly warmUpTurns: number },
  stack: AsyncDisposableStack,
): Promise<Measured> {
  const servers: PostgresServer[] = [];
  const counters: pg.Client[] = [];
  while (servers.length < databases) {
    const database = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
      isSynced: true,
    });
    stack.defer(() => database.remove());
    await database.create();
    await database.start();
    servers.push(database);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    stack.defer(() => client.end());
    counters.push(client);
  }
  const data = servers.map(({ url }) => url).join(" ");
  const server = stack.use(await ServerProcess.start("postgres", { paceMs, data }));
  await warmUpPaced({ server }, warmUpTurns);
  const count = async (): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {};
    for (const [at, client] of counters.entries()) {
      const { rows } = await client.query<{ readonly commits: string; readonly wal: string }>(
        `SELECT xact_commit AS commits, pg_current_wal_insert_lsn() - '0/0' AS wal
          FROM pg_stat_database WHERE datname = current_database()`,
      );
      counts[`commits ${at}`] = Number(rows[0]?.commits);
      counts[`wal ${at}`] = Number(rows[0]?.wal);
      counts[`cpu ${at}`] = engineCpuMs(servers[at] as PostgresServer);
    }
    return counts;
  };
  return {
    name: `${databases === 1 ? "one" : databases} with ${clients} turns at a time`,
    databases,
    samples: [],
    async sample() {
      const load = { clients, turnMs: TURN_MS, ms: 3 * TURN_MS, count };
      const { sample, drained } = await measurePacedTurns(server, load);
      await drained;
      return sample;
    },
  };
}
