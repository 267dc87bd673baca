import type { Limits } from "troupe";
import type { Picker } from "../laws/program.ts";

/** The kinds of faults and their times. */
export interface Fault {
  readonly kind: "kill" | "fail" | "rival" | "steal" | "stop" | "pause" | "apart";
  readonly at:
    | { readonly moment: "asked" | "written"; readonly commit: number }
    | { readonly moment: "step"; readonly step: number };
  /** The duration of the fault in milliseconds. */
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
  readonly commitIntervalMs: number;
  readonly clients: number;
  /** The percentage of messages to and from another server that are lost. */
  readonly lossPercent: number;
  readonly readers: number;
  readonly faults: readonly Fault[];
  /** Whether the process is restarted once more at the end. */
  readonly restart: boolean;
}

/** Creates a plan from the values of a seed. */
export function createPlan(pick: Picker): Plan {
  return {
    retention: pick.chance(12) ? retention(pick) : {},
    limits: { idleRuns: pick.of([0, 1, 1_000]), queuedRequests: pick.of([1, 8]) },
    commitIntervalMs: pick.of([0, 0, 5]),
    lossPercent: pick.of([0, 0, 5, 20]),
    clients: pick.of([1, 1, 1, 1, 2]),
    readers: pick.of([0, 0, 1]),
    faults: Array.from({ length: pick.of([0, 1, 1, 1, 2, 2, 3]) }, () => fault(pick)),
    restart: pick.chance(40),
  };
}

function retention(pick: Picker): Retention {
  return { retainMs: RETAIN_MS, ...(pick.chance(50) && { retainBytes: 1 + pick.below(10_000) }) };
}

function fault(pick: Picker): Fault {
  return {
    kind: pick.of(KINDS),
    at: pick.chance(60)
      ? { moment: pick.of(["asked", "written"] as const), commit: 1 + pick.below(16) }
      : { moment: "step", step: 1 + pick.below(250) },
    forMs: pick.of([0, 10, 500, 5_000]),
  };
}

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
