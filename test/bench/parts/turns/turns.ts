import type { Sample } from "../../harness/load.ts";
import { middle, ratio } from "../../harness/load.ts";
import { atMost, ms } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { turnTrial } from "../../compare/trial.ts";
import type { Trial } from "../../compare/trial.ts";
import { TurnTable } from "../../harness/turn-table.ts";
import type { Row } from "../../harness/turn-table.ts";

/** Our servers, the floors, and bare Hono. */
const ROWS: readonly Row[] = [
  ["memory log, a write for each event", "memory", { windowMs: 0 }],
  ["memory log", "memory", {}],
  ["durable log", "durable", {}],
  ["durable log, no window", "durable", { windowMs: 0 }],
  ["raw socket writes, nothing kept", "raw-socket", {}],
  ["raw socket writes, texts gather 1 ms", "raw-socket", { gatherMs: 1 }],
  ["bare node:http, nothing kept", "bare-node", {}],
  ["bare node:http, texts gather 1 ms", "bare-node", { gatherMs: 1 }],
  ["bare Hono, nothing kept", "bare-hono", {}],
];

export const TURN_TRIALS: readonly Trial[] = ROWS.slice(0, 4).map((row) =>
  turnTrial(row, ({ roundMs }) => ({ concurrency: 32, ms: roundMs })),
);

/** The cost of a turn of a hundred texts, compared with servers that only stream. */
export async function measureTurns(setup: Setup): Promise<Result[]> {
  await using table = await TurnTable.start(ROWS, 32, setup.warmUpTurns);
  const measure = (concurrency: number, rounds: number): Promise<readonly (readonly Sample[])[]> =>
    table.measure(
      `A turn of 100 texts, ${concurrency} at a time`,
      { concurrency, ms: setup.roundMs },
      rounds,
    );
  const results = judge(await measure(32, setup.rounds));
  for (const concurrency of setup.concurrencies) {
    const [, , durable = []] = await measure(concurrency, setup.longRounds);
    if (concurrency === 1)
      results.push(atMost("first event p50, durable log, one client", middle(durable).firstP50Ms, 0.9, ms));
  }
  return results;
}

function judge(samples: readonly (readonly Sample[])[]): Result[] {
  const [memory = [], gathered = [], durable = []] = samples;
  const hono = samples.at(-1) ?? [];
  const cpu = (own: readonly Sample[]): number => ratio(own, hono, "cpuMs");
  const { firstP50Ms, endP50Ms } = middle(durable);
  return [
    atMost("CPU of a turn, memory log, a write for each event, relative to bare Hono", cpu(memory), 0.6),
    atMost("CPU of a turn, memory log, relative to bare Hono", cpu(gathered), 0.28),
    atMost("CPU of a turn, durable log, relative to bare Hono", cpu(durable), 0.3),
    atMost("first event p50, durable log, 32 clients", firstP50Ms, 4, ms),
    atMost("first event p50, memory log, relative to bare Hono", ratio(memory, hono, "firstP50Ms"), 1.5),
    atMost("end of the stream after its last event, p50, memory log", middle(memory).endP50Ms, 1, ms),
    atMost("end of the stream after its last event, p50, durable log", endP50Ms, 1, ms),
  ];
}
