// Measures the cost of turns, runs and readers and prints it next to servers that store nothing.
//
// npm run bench -- [--quick] [--peers] [--only turns,recovery]          all figures of this checkout; --peers: paced turns
//                                                                       of other frameworks too
// npm run bench -- [--quick] [--only turns,recovery] --against REV      this checkout compared with another commit
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { pairWith } from "./compare/pair.ts";
import { toResultTable } from "./harness/result.ts";
import type { Result } from "./harness/result.ts";
import { canPin, pinClient } from "./harness/server-process.ts";
import { QUICK, THOROUGH } from "./harness/setup.ts";
import type { Setup } from "./harness/setup.ts";
import type { Trial } from "./compare/trial.ts";
import { measureActors } from "./parts/actors/actors.ts";
import { measureAip } from "./aip/measure.ts";
import { measureChildCalls } from "./parts/turns/child-calls.ts";
import { READER_TRIAL, measureIdleReaders } from "./parts/idle-readers.ts";
import { measureErasure } from "./parts/erasure.ts";
import { measureEvaluation } from "./parts/evaluation.ts";
import { measureLongRuns } from "./parts/long-runs.ts";
import { measureLongTurns } from "./parts/turns/long-turns.ts";
import { measureManyRuns } from "./parts/many-runs.ts";
import { ONE_TEXT_TRIALS, measureOneText } from "./parts/turns/one-text.ts";
import { PACED_TRIALS, measurePaced } from "./parts/turns/paced.ts";
import { measureOwners } from "./parts/owners.ts";
import { measureReadiness } from "./parts/readiness.ts";
import { RECOVERY_TRIAL, measureRecovery } from "./parts/recovery.ts";
import { measureRunList } from "./parts/run-list.ts";
import { measureSearch } from "./parts/search.ts";
import { measureSlowDisk } from "./parts/slow-disk.ts";
import { TURN_TRIALS, measureTurns } from "./parts/turns/turns.ts";
import { measureTraces } from "./parts/turns/traces.ts";
import { measureWires } from "./parts/turns/wires.ts";
import { measureCluster } from "./cluster/measure.ts";
import { measureDatabases } from "./cluster/databases.ts";
import { NODES_TRIALS, measurePacedNodes } from "./cluster/paced-nodes.ts";
import { measurePaint, measureStatistics } from "./parts/statistics.ts";
import { measureTasks } from "./tasks/measure.ts";
import { WAITING_TRIAL, measureWaiting } from "./parts/waiting.ts";
import { measureRemoval, measureYears } from "./years/measure.ts";

/** A part of the benchmark, and what of it can be compared with another commit. */
interface Part {
  readonly measure: (setup: Setup) => Promise<Result[]>;
  readonly trials?: readonly Trial[];
  /** It is measured alone only if it is named. */
  readonly isPartOfAnother?: boolean;
}

const PARTS: Readonly<Record<string, Part>> = {
  // What a model does leads; bursts follow.
  paced: { measure: measurePaced, trials: PACED_TRIALS },
  turns: { measure: measureTurns, trials: TURN_TRIALS },
  "one-text": { measure: measureOneText, trials: ONE_TEXT_TRIALS },
  "slow-disk": { measure: measureSlowDisk },
  "long-turns": { measure: measureLongTurns },
  "long-runs": { measure: measureLongRuns },
  "many-runs": { measure: measureManyRuns },
  "run-list": { measure: measureRunList },
  search: { measure: measureSearch },
  calls: { measure: measureChildCalls },
  owners: { measure: measureOwners },
  statistics: { measure: measureStatistics },
  paint: { measure: measurePaint },
  erasure: { measure: measureErasure },
  evaluation: { measure: measureEvaluation },
  // A turn that sends nothing to other actors must not cost more for them.
  actors: { measure: measureActors, trials: ONE_TEXT_TRIALS },
  readers: { measure: measureIdleReaders, trials: [READER_TRIAL] },
  readiness: { measure: measureReadiness },
  waiting: { measure: measureWaiting, trials: [WAITING_TRIAL] },
  wires: { measure: measureWires },
  traces: { measure: measureTraces },
  aip: { measure: measureAip },
  tasks: { measure: measureTasks },
  nodes: { measure: measurePacedNodes, trials: NODES_TRIALS },
  databases: { measure: measureDatabases },
  cluster: { measure: measureCluster },
  years: { measure: measureYears },
  removal: { measure: measureRemoval, isPartOfAnother: true },
  recovery: { measure: measureRecovery, trials: [RECOVERY_TRIAL] },
};

const { values } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    peers: { type: "boolean", default: false },
    only: { type: "string" },
    against: { type: "string" },
    store: { type: "string" },
    runs: { type: "string" },
  },
});
if (values.help) {
  console.log(`npm run bench -- [--quick] [--peers] [--only PART,PART] [--against COMMIT] [--store DIRECTORY] [--runs NUMBER]

--quick    fewer rounds and rows: enough to see large differences
--peers    paced turns of other frameworks too
--store    keeps the stores of a million runs in this directory, and measures the ones that are there (statistics, paint, years, removal)
--runs     a store of years has so many runs (default 1,000,000, with --quick 20,000)
--only     these parts: ${Object.keys(PARTS).join(", ")}
--against  compares this checkout with another commit`);
  process.exit(0);
}
const setup: Setup = {
  ...(values.quick ? QUICK : THOROUGH),
  peers: values.peers,
  ...(values.store && { store: values.store }),
  ...(values.runs && { runs: Number(values.runs) }),
};
const parts = choose(values.only?.split(","));

const [cpu] = cpus();
console.log(`Node ${process.version}, ${cpus().length} cores of ${cpu?.model ?? "an unknown kind"}`);
if (!canPin) console.log("The processes cannot be pinned to cores here, so the figures vary more.");
console.log(
  `Before its first round a server has ${setup.warmUpTurns} turns; then the rounds of the servers alternate.`,
);
pinClient();

if (values.against === undefined) {
  const results: Result[] = [];
  for (const { measure } of parts) results.push(...(await measure(setup)));
  console.log(`\n${toResultTable(results)}`);
} else {
  await pairWith(values.against, [...new Set(parts.flatMap(({ trials = [] }) => trials))], setup);
}

function choose(names?: readonly string[]): readonly Part[] {
  if (names === undefined)
    return Object.values(PARTS).filter(({ isPartOfAnother }) => isPartOfAnother !== true);
  const unknown = names.find((name) => !(name in PARTS));
  if (unknown === undefined) return names.flatMap((name) => PARTS[name] ?? []);
  throw new Error(`--only: there is no part ${unknown}; the parts are ${Object.keys(PARTS).join(", ")}`);
}
