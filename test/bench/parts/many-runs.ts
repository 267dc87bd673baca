import { Connection } from "../harness/connection.ts";
import { toTurnRequest } from "../harness/load.ts";
import { atMost } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { ServerName } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";

/** The number of runs that are measured. */
const WINDOW = 2_000;

/** Whether a run costs the same after any number of runs. */
export async function measureManyRuns(setup: Setup): Promise<Result[]> {
  return [await measure("memory", setup), await measure("durable", setup)];
}

async function measure(name: ServerName, { lateRun }: Setup): Promise<Result> {
  await using server = await ServerProcess.start(name, { deltas: 1 });
  // The first runs of a process pay for the compiler.
  await start(server, WINDOW);
  const early = await start(server, WINDOW);
  await start(server, lateRun - 2 * WINDOW);
  const late = await start(server, WINDOW);
  const what = `CPU of run ${lateRun}, relative to run ${WINDOW}, ${name} log`;
  return atMost(what, late / early, 1.2);
}

/** Starts a number of runs, 32 in parallel, each with a turn of one text. Returns the CPU time. */
async function start(server: ServerProcess, runs: number): Promise<number> {
  const before = server.usage().cpuMs;
  let left = runs;
  const work = async (): Promise<void> => {
    const connection = new Connection(server.port);
    for (; left > 0; left -= 1) await connection.request(toTurnRequest());
    connection.close();
  };
  await Promise.all(Array.from({ length: 32 }, work));
  return server.usage().cpuMs - before;
}
