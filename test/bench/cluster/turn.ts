import type { PostgresServer } from "../../machine/postgres-server.ts";
import { measure, middle, ratio, warmUp } from "../harness/load.ts";
import type { Sample } from "../harness/load.ts";
import { atMost, ms, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { engineCpuMs } from "./engine.ts";

export const TURN_CPU = "CPU of a turn of the node, log in PostgreSQL, relative to the durable log";

/** The cost of a turn of a hundred texts with a log in PostgreSQL, beside one in a directory. Both sync every commit. */
export async function measureTurn(database: PostgresServer, setup: Setup): Promise<Result[]> {
  await using durable = await ServerProcess.start("durable");
  await using node = await ServerProcess.start("postgres", { data: database.url });
  const load = { concurrency: 32, ms: setup.roundMs };
  await Promise.all([durable, node].map((server) => warmUp({ server, load }, setup.warmUpTurns)));
  const files: Sample[] = [];
  const nodes: Sample[] = [];
  const engine: number[] = [];
  for (let round = 0; round < setup.rounds; round += 1) {
    files.push(await measure({ server: durable, load }));
    const before = engineCpuMs(database);
    const startedAt = performance.now();
    const sample = await measure({ server: node, load });
    const turns = (sample.turnsPerS * (performance.now() - startedAt)) / 1_000;
    engine.push((engineCpuMs(database) - before) / turns);
    nodes.push(sample);
  }
  const cells = (label: string, samples: readonly Sample[], own: string): string[] => {
    const { cpuMs, turnsPerS, firstP50Ms } = middle(samples);
    return [
      label,
      ms(cpuMs),
      ratio(samples, files, "cpuMs").toFixed(2),
      own,
      turnsPerS.toFixed(0),
      ms(firstP50Ms),
    ];
  };
  const head = ["log", "CPU of the node", "× durable log", "CPU of PostgreSQL", "turns/s", "first event p50"];
  const rows = [cells("PostgreSQL", nodes, ms(median(engine))), cells("durable log", files, "–")];
  console.log(`\nA turn of 100 texts, 32 at a time\n\n${toTable([head, ...rows])}`);
  return [atMost(TURN_CPU, ratio(nodes, files, "cpuMs"), 1.3)];
}
