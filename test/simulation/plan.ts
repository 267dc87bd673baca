import type { Limits } from "troupe";
import type { Picker } from "../laws/program.ts";

/** The kinds of faults and their times. */
export interface Fault {
  readonly kind: "kill" | "fail" | "rival" | "steal" | "stop" | "pause" | "apart" | "clock" | "cut";
  readonly at:
    | { readonly moment: "asked" | "written"; readonly commit: number }
    | { readonly moment: "step"; readonly step: number };
  /** The duration of the fault in milliseconds; of a step of the wall clock, how far it goes. */
  readonly forMs: number;
}

/** The retention options of a runtime. */
export interface Retention {
  readonly retainMs?: number;
  readonly retainBytes?: number;
}

/** The retention times in simulations with retention. */
const RETAIN_MS = 77_770;

/** The interval of the retention check in milliseconds; no other periodic work uses this interval. */
export const LOOK_MS: number = RETAIN_MS / 10;

/** The fixed settings of a simulation. */
export interface Plan {
  /** How long runs are kept, and their maximum bytes. */
  readonly retention: Retention;
  readonly limits: Partial<Limits>;
  readonly textWindowMs: number;
  readonly clients: number;
  /** The percentage of messages to and from another server that are lost. */
  readonly lossPercent: number;
  readonly readers: number;
  readonly faults: readonly Fault[];
  /** Whether the process is restarted once more at the end. */
  readonly restart: boolean;
  /** Whether an agent with schedules is served. */
  readonly scheduled: boolean;
  /** The number of nodes; 0 for one process after the other. */
  readonly nodes: number;
  /** How far the wall clocks of nodes are off at most, in milliseconds; 0: they are equal. */
  readonly apartMs: number;
  /** Whether the nodes use gossip. */
  readonly gossips: boolean;
}

/** Creates a plan from the values of a seed. */
export function createPlan(pick: Picker): Plan {
  const retained = pick.chance(12) ? retention(pick) : {};
  // Retention goes by the wall clock: after a step of it, runs are removed too late or too early.
  const hasSteps = retained.retainMs === undefined && pick.chance(20);
  const steps = hasSteps ? Array.from({ length: 1 + pick.below(3) }, () => clockStep(pick)) : [];
  return {
    retention: retained,
    limits: {
      idleRuns: pick.of([0, 1, 1_000]),
      queuedRequests: pick.of([1, 8]),
      // Few events, so that actors continue in new runs.
      ...(pick.chance(30) && { keyedRunEvents: pick.of([4, 20]) }),
      ...(pick.chance(50) && { checkpointEvents: pick.of([1, 10]) }),
    },
    textWindowMs: pick.of([0, 5, 50]),
    lossPercent: pick.of([0, 0, 5, 20]),
    clients: pick.of([1, 1, 1, 1, 2]),
    readers: pick.of([0, 0, 1]),
    faults: [...Array.from({ length: pick.of([0, 1, 1, 1, 2, 2, 3]) }, () => fault(pick)), ...steps],
    restart: pick.chance(40),
    scheduled: retained.retainMs === undefined && pick.chance(hasSteps ? 30 : 3),
    nodes: 0,
    apartMs: 0,
    gossips: false,
  };
}

/** Creates a plan for several nodes at once. */
export function createNodesPlan(pick: Picker): Plan {
  const plan = createPlan(pick);
  const faults = Array.from({ length: pick.of([0, 1, 1, 2, 2, 3, 4]) }, () => ({
    ...fault(pick),
    kind: pick.of(NODE_KINDS),
    forMs: pick.of([0, 10, 500, 2_000, 5_000, 9_000]),
  }));
  const steps = plan.faults.filter(({ kind }) => kind === "clock");
  // The times of schedules are far apart, in which nodes beat often.
  const scheduled = plan.scheduled && pick.chance(25);
  const nodes = pick.of([2, 2, 3, 4]);
  // Retention goes by the wall clock: it keeps runs for a time in which such a difference is small.
  const isKept = plan.retention.retainMs === undefined;
  const apartMs = isKept ? pick.of([0, 0, 700, 10_000, 120_000]) : 0;
  // Until nodes have removed the secrets that nothing refers to, retention removes runs.
  const restart = plan.restart && isKept;
  // Pings are many steps: too many where a day passes.
  const gossips = isKept && !scheduled && pick.chance(50);
  return { ...plan, faults: [...faults, ...steps], restart, scheduled, nodes, apartMs, gossips };
}

function retention(pick: Picker): Retention {
  return { retainMs: RETAIN_MS, ...(pick.chance(50) && { retainBytes: 1 + pick.below(10_000) }) };
}

function fault(pick: Picker): Fault {
  return { kind: pick.of(KINDS), at: moment(pick), forMs: pick.of([0, 10, 500, 5_000]) };
}

/** The wall clock jumps forwards or backwards. */
function clockStep(pick: Picker): Fault {
  const forMs = pick.of([-HOUR_MS, -200_000, -30_000, -700, 700, 30_000, 200_000, HOUR_MS]);
  return { kind: "clock", at: moment(pick), forMs };
}

function moment(pick: Picker): Fault["at"] {
  return pick.chance(60)
    ? { moment: pick.of(["asked", "written"] as const), commit: 1 + pick.below(16) }
    : { moment: "step", step: 1 + pick.below(250) };
}

const HOUR_MS = 3_600_000;

const KINDS = [
  "kill",
  "kill",
  "kill",
  "kill",
  "kill",
  "fail",
  "fail",
  "fail",
  "rival",
  "rival",
  "steal",
  "steal",
  "stop",
  "pause",
  "apart",
] as const;

/** A rival is one more node. */
const NODE_KINDS = [
  "kill",
  "kill",
  "kill",
  "fail",
  "rival",
  "steal",
  "stop",
  "stop",
  "pause",
  "pause",
  "pause",
  "cut",
  "cut",
  "apart",
] as const;
