import { ratio } from "../../harness/load.ts";
import { atMost } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { turnTrial } from "../../compare/trial.ts";
import type { Trial } from "../../compare/trial.ts";
import { TurnTable } from "../../harness/turn-table.ts";
import type { Row } from "../../harness/turn-table.ts";

const ROWS: readonly Row[] = [
  ["memory log", "memory", { deltas: 1 }],
  ["durable log", "durable", { deltas: 1 }],
  ["raw socket writes, nothing kept", "raw-socket", { deltas: 1 }],
  ["bare node:http, nothing kept", "bare-node", { deltas: 1 }],
  ["bare Hono, nothing kept", "bare-hono", { deltas: 1 }],
  ["bare Hono, 100 texts", "bare-hono", {}],
];

export const ONE_TEXT_TRIALS: readonly Trial[] = ROWS.slice(0, 2).map(([label, ...server]) =>
  turnTrial([`${label}, one text`, ...server], ({ roundMs }) => ({ concurrency: 32, ms: roundMs })),
);

/** The cost of a turn of one text, relative to a turn of a hundred texts of bare Hono. */
export async function measureOneText({ warmUpTurns, rounds, roundMs }: Setup): Promise<Result[]> {
  await using table = await TurnTable.start(ROWS, 32, warmUpTurns);
  const title = "A turn of one text, 32 at a time";
  const samples = await table.measure(title, { concurrency: 32, ms: roundMs / 2 }, rounds);
  const [, durable = []] = samples;
  const cpu = ratio(durable, samples.at(-1) ?? [], "cpuMs");
  return [atMost("CPU of a turn of one text, durable log, relative to 100 texts of bare Hono", cpu, 0.22)];
}
