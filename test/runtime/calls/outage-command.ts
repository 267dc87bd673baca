// Lets 10,000 turns wait for a model that is away for six hours, on a manual clock. `npm run test:outage -- 10000 6`
import { MODEL_LIMITS, runOutage } from "./outage.ts";

const [turns = 10_000, hours = 6] = process.argv.slice(2).map(Number);
const started = performance.now();
const report = await runOutage(turns, hours);
const { answered, peakPerSecond, most, heapBytes, attemptsWhileAway } = report;
const seconds = Math.round((performance.now() - started) / 1_000);
console.log(
  `${answered} of ${turns} turns answered; ${attemptsWhileAway} attempts in ${hours} h; afterwards at most ` +
    `${peakPerSecond} attempts a second, ${most} at once; ${Math.round(heapBytes / 1_048_576)} MiB; took ${seconds} s`,
);
const isFine =
  answered === turns &&
  peakPerSecond <= MODEL_LIMITS.rate.limit * 2 &&
  most <= MODEL_LIMITS.concurrency &&
  heapBytes < 200 * 1_048_576;
process.exitCode = isFine ? 0 : 1;
