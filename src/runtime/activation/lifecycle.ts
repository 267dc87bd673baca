import type { RunPhase } from "../../protocol/answers/status.ts";

/** What changes the phase of a run: a turn starts, is parked, continues or ends; the run is passivated. */
export type LifecycleEvent = "start" | "park" | "unpark" | "end" | "close";

/** The state of a run: its phase, or `closed` when it is no longer in memory. */
export type LifecycleState = RunPhase | "closed";

/** The next state for each event in each state. Other events change nothing. */
export const TRANSITIONS: Readonly<
  Record<LifecycleState, { readonly [Event in LifecycleEvent]?: LifecycleState }>
> = {
  idle: { start: "running", close: "closed" },
  running: { park: "waiting", end: "idle", close: "closed" },
  waiting: { unpark: "running", end: "idle", close: "closed" },
  closed: {},
};
