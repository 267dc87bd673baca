import type { RunPhase } from "../../protocol/answers/status.ts";
import type { RequestId } from "../../protocol/ids.ts";

/** The state of a run: its phase, or `closed` when it is no longer in memory. */
export type LifecycleState = RunPhase | "closed";

/** The state of a run as its actor shows it. */
export interface RunSnapshot {
  readonly status: "active" | "done";
  readonly output: undefined;
  readonly error: undefined;
  readonly value: LifecycleState;
  readonly context: RunFacts;
}

/** What a run has. */
export interface RunFacts {
  /** Absent before its first message. */
  readonly agent?: string | undefined;
  readonly key?: string | undefined;
  /** The request of the started turn. */
  readonly request_id?: RequestId | undefined;
  /** The number of turns that have started. */
  readonly turns: number;
  /** The number of requests that wait for their turns. */
  readonly queued: number;
}
