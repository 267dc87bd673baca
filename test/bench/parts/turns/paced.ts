import { ratio } from "../../harness/load.ts";
import type { Sample } from "../../harness/load.ts";
import { atMost } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { turnTrial } from "../../compare/trial.ts";
import type { Trial } from "../../compare/trial.ts";
import { TurnTable } from "../../harness/turn-table.ts";
import type { Row } from "../../harness/turn-table.ts";

/** The time between two texts of a turn: the pace of a fast model. */
const paceMs = 10;

/** Turns at the same time. */
const TURNS = 200;

/** A turn takes a good second, so each client has two turns in a round. */
const ROUND_MS = 1_500;

const ROWS: readonly Row[] = [
  ["memory log", "memory", { paceMs }],
  ["durable log", "durable", { paceMs }],
  ["raw socket writes, nothing kept", "raw-socket", { paceMs }],
  ["bare Hono, nothing kept", "bare-hono", { paceMs }],
];

export const PACED_TRIALS: readonly Trial[] = ROWS.slice(0, 2).map(([label, ...server]) =>
  turnTrial([`${label}, paced`, ...server], () => ({ concurrency: TURNS, ms: ROUND_MS })),
);

/** The cost of turns whose texts come at the pace of a model, so that nothing gathers within a turn. */
export async function measurePaced({ warmUpTurns, longRounds }: Setup): Promise<Result[]> {
  await using table = await TurnTable.start(ROWS, TURNS, warmUpTurns);
  const title = `A turn of 100 texts, one every ${paceMs} ms, ${TURNS} at a time`;
  const samples = await table.measure(title, { concurrency: TURNS, ms: ROUND_MS }, longRounds);
  const [memory = [], durable = []] = samples;
  const cpu = (own: readonly Sample[]): number => ratio(own, samples.at(-1) ?? [], "cpuMs");
  return [
    atMost("CPU of a paced turn, memory log, relative to bare Hono", cpu(memory), 0.7),
    atMost("CPU of a paced turn, durable log, relative to bare Hono", cpu(durable), 1),
  ];
}
