import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import { skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { measureNodes } from "./nodes.ts";
import { measureTurn, TURN_CPU } from "./turn.ts";
import { measureWaitingRuns } from "./waiting.ts";
import { measureWake } from "./wake.ts";

/** What nodes cost that share a log in PostgreSQL, each part with a database of its own. */
export async function measureCluster(setup: Setup): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined) return [skipped(TURN_CPU, "this machine has no PostgreSQL")];
  const results: Result[] = [];
  for (const measure of [measureTurn, measureNodes, measureWaitingRuns, measureWake]) {
    const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), {
      isSynced: true,
    });
    try {
      await server.create();
      await server.start();
      results.push(...(await measure(server, setup)));
    } finally {
      await server.remove();
    }
  }
  return results;
}
