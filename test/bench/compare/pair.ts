import { Checkout, TREE } from "./checkout.ts";
import { toTable } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median, percentile } from "../harness/statistics.ts";
import type { OpenTrial, Trial } from "./trial.ts";

/**
 * Measures trials on another commit and on this checkout in alternation, and prints how this one compares: the
 * median of the ratios of all pairs, and the range of the middle half of them.
 */
export async function pairWith(revision: string, trials: readonly Trial[], setup: Setup): Promise<void> {
  using before = new Checkout(revision);
  const rows: string[][] = [];
  for (const trial of trials) {
    await using old = await trial.open(before.tree, setup);
    await using own = await trial.open(TREE, setup);
    for (const row of await alternate(old, own, setup.rounds)) {
      rows.push([trial.what, ...row]);
      console.log(`${trial.what}: ${row.join(" · ")}`);
    }
  }
  const head = ["what", "figure", `at ${revision}`, "here", "ratio", "middle half"];
  console.log(`\n${toTable([head, ...rows])}`);
}

async function alternate(old: OpenTrial, own: OpenTrial, rounds: number): Promise<string[][]> {
  const before: Readonly<Record<string, number>>[] = [];
  const here: Readonly<Record<string, number>>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // The order changes, so that neither is always the one that runs after the other.
    if (round % 2 === 0) before.push(await old.sample());
    here.push(await own.sample());
    if (round % 2 === 1) before.push(await old.sample());
  }
  return Object.keys(here[0] ?? {}).map((figure) => {
    const of = (samples: typeof here): number[] => samples.map((sample) => sample[figure] ?? Number.NaN);
    const olds = of(before);
    const ratios = of(here).map((value, round) => value / (olds[round] ?? Number.NaN));
    const [low, high] = [percentile(ratios, 0.25), percentile(ratios, 0.75)];
    return [
      figure,
      median(olds).toPrecision(3),
      median(of(here)).toPrecision(3),
      median(ratios).toFixed(3),
      `${low.toFixed(3)} to ${high.toFixed(3)}`,
    ];
  });
}
