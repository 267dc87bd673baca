// Measures the cost of turns, runs and readers and prints it next to bare Hono and bare node:http.
//
// npm run bench -- [--quick] [--only G3,G8]
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureChildCalls } from "./parts/child-calls.ts";
import { measureIdleReaders } from "./parts/idle-readers.ts";
import { measureLongRuns } from "./parts/long-runs.ts";
import { measureLongTurns } from "./parts/long-turns.ts";
import { measureManyRuns } from "./parts/many-runs.ts";
import { measureReadiness } from "./parts/readiness.ts";
import { measureRecovery } from "./parts/recovery.ts";
import { toTable } from "./harness/result.ts";
import type { Result } from "./harness/result.ts";
import { canPin, pinClient } from "./harness/server-process.ts";
import { QUICK, THOROUGH } from "./harness/setup.ts";
import type { Setup } from "./harness/setup.ts";
import { measureSlowDisk } from "./parts/slow-disk.ts";
import { measureTurns } from "./parts/turns.ts";
import { measureWaiting } from "./parts/waiting.ts";

/** The measurements and their goals. */
const MEASUREMENTS: readonly (readonly [
  goals: readonly string[],
  run: (setup: Setup) => Promise<Result[]>,
])[] = [
  [["G1", "G2", "G3", "G6"], measureTurns],
  [["G3"], measureSlowDisk],
  [["G5"], measureLongTurns],
  [["G8"], measureLongRuns],
  [["G9"], measureManyRuns],
  [["calls"], measureChildCalls],
  [["size"], measureIdleReaders],
  [["size"], measureReadiness],
  [["waiting"], measureWaiting],
  [["recovery"], measureRecovery],
];

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
});
const setup = values.quick ? QUICK : THOROUGH;
const only = values.only?.split(",");

const [cpu] = cpus();
console.log(`Node ${process.version}, ${cpus().length} cores of ${cpu?.model ?? "an unknown kind"}`);
if (!canPin) console.log("The processes cannot be pinned to cores here, so the figures vary more.");
pinClient();

const results: Result[] = [];
for (const [goals, measure] of MEASUREMENTS) {
  if (only && !goals.some((goal) => only.includes(goal))) continue;
  results.push(...(await measure(setup)));
}
const shown = results.filter(({ goal }) => !only || only.includes(goal));
const rows = shown.map(({ goal, what, measured, limit, met }) => [
  goal,
  what,
  measured,
  limit,
  met === undefined ? "" : met ? "met" : "missed",
]);
console.log(`\n${toTable([["goal", "what", "measured", "limit", ""], ...rows])}`);
