import type { Limits } from "troupe";
import type { Picker } from "../laws/program.ts";

/** What befalls a world, and when. */
export interface Fault {
  readonly kind: "kill" | "fail" | "rival" | "steal" | "stop" | "pause";
  readonly at:
    | { readonly moment: "asked" | "written"; readonly commit: number }
    | { readonly moment: "step"; readonly step: number };
  /** After how many milliseconds things are well again. */
  readonly forMs: number;
}

/** Everything about a world that is settled before it begins. */
export interface Plan {
  readonly limits: Partial<Limits>;
  readonly commitIntervalMs: number;
  readonly clients: number;
  readonly readers: number;
  readonly faults: readonly Fault[];
  /** Whether the process is started once more when all has come to rest. */
  readonly restart: boolean;
}

/** Makes a plan from what a seed gives. */
export function createPlan(pick: Picker): Plan {
  return {
    limits: { idleRuns: pick.of([0, 1, 1_000]), queuedRequests: pick.of([1, 8]) },
    commitIntervalMs: pick.of([0, 0, 5]),
    clients: pick.of([1, 1, 1, 1, 2]),
    readers: pick.of([0, 0, 1]),
    faults: Array.from({ length: pick.of([0, 1, 1, 1, 2, 2, 3]) }, () => fault(pick)),
    restart: pick.chance(40),
  };
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
] as const;
