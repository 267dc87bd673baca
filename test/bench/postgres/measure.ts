import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import { ratio } from "../harness/load.ts";
import { atMost, skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { TurnTable } from "../harness/turn-table.ts";

const CPU = "CPU of a turn of the node, log in PostgreSQL, relative to the durable log";

/** The cost of a turn of a hundred texts with a log in PostgreSQL, beside one in a directory. Both sync every commit. */
export async function measurePostgres(setup: Setup): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined) return [skipped(CPU, "this machine has no PostgreSQL")];
  const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), { isSynced: true });
  try {
    server.create();
    await server.start();
    await using table = await TurnTable.start(
      [
        ["log in PostgreSQL", "postgres", { data: server.url }],
        ["durable log", "durable", {}],
      ],
      32,
      setup.warmUpTurns,
    );
    const load = { concurrency: 32, ms: setup.roundMs };
    const [postgres = [], durable = []] = await table.measure(
      "A turn of 100 texts, 32 at a time; × durable log",
      load,
      setup.rounds,
    );
    return [atMost(CPU, ratio(postgres, durable, "cpuMs"), 1.3)];
  } finally {
    await server.remove();
  }
}
