import { compare, warmUp } from "../../harness/load.ts";
import type { Sample } from "../../harness/load.ts";
import { atMost } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import { ServerProcess } from "../../harness/server-process.ts";
import type { ServerName } from "../../harness/server-process.ts";
import type { Setup } from "../../harness/setup.ts";
import { median } from "../../harness/statistics.ts";

const SHORT = 100;
const LONG = 1_600;

/** Whether an event of a long turn costs as much as one of a short turn. */
export async function measureLongTurns(setup: Setup): Promise<Result[]> {
  return [await measure("memory", setup), await measure("durable", setup)];
}

async function measure(name: ServerName, { warmUpTurns, roundMs, longRounds }: Setup): Promise<Result> {
  await using short = await ServerProcess.start(name, { deltas: SHORT });
  await using long = await ServerProcess.start(name, { deltas: LONG });
  const load = { concurrency: 32, ms: roundMs };
  const loads = [
    { server: short, load },
    { server: long, load },
  ];
  await warmUp({ server: short, load }, warmUpTurns);
  // As many texts.
  await warmUp({ server: long, load }, (warmUpTurns * SHORT) / LONG);
  const [ofShort = [], ofLong = []] = await compare(loads, longRounds);
  const ratios = ofLong.map((sample, round) => perText(sample, LONG) / perText(ofShort[round], SHORT));
  return atMost(
    `CPU per event in a turn of ${LONG} events, relative to a turn of ${SHORT}, ${name} log`,
    median(ratios),
    1.2,
  );
}

function perText(sample: Sample | undefined, texts: number): number {
  return (sample?.cpuMs ?? Number.NaN) / texts;
}
