import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RequestPhase, WaitingFor } from "../protocol/answers/status.ts";
import type { RunRow, WaitMark, OutboxMark, RecordPosition } from "./log-batch.ts";

/** A state of the run that its owner stored, and the part of the log that it covers. */
export interface Snapshot {
  readonly head: number;
  readonly records: number;
  readonly data: Json;
}

/** A run's row as stored. */
export interface RunEntry extends RunRow {
  readonly runId: RunId;
  readonly head: number;
  /** The name of its alias, if it has one; of several the first in alphabetical order. */
  readonly alias?: string;
  /** The number of its open waits; absent if it has none. */
  readonly openWaits?: number;
  /** The number of its queued requests; absent if it has none. */
  readonly queued?: number;
  /** When its started request, which is parked, must continue, in milliseconds since 1970. */
  readonly wakeAt?: number;
  /** The node that claimed it last and has not released it. */
  readonly node?: string;
  /** True for a run that was removed; the rest of the row is then empty, except for its owner. */
  readonly removed?: boolean;
}

/** An open wait for input. */
export interface WaitEntry extends Omit<WaitMark, "closed"> {
  readonly runId: RunId;
}

/** A part of the list of open waits. */
export interface WaitEntryPage {
  readonly waits: readonly WaitEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of selected waits, if it was asked for. */
  readonly total?: number;
}

/** An entry of an outbox that is not done. */
export interface OutboxEntry extends Omit<OutboxMark, "done"> {
  /** The run that sends the message. */
  readonly runId: RunId;
}

/** A schedule of a run. */
export interface ScheduleEntry {
  readonly runId: RunId;
  /** The owner of the run; absent for `default`. */
  readonly owner?: string;
  readonly id: string;
  /** When it is to be looked at next, in milliseconds since 1970; absent if there is no such time. */
  readonly due?: number;
  readonly data: JsonObject;
}

/** A part of a list of schedules. */
export interface ScheduleEntryPage {
  readonly schedules: readonly ScheduleEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of selected schedules, if it was asked for. */
  readonly total?: number;
}

/** The entry of a request in the index. */
export interface RequestEntry {
  readonly requestId: RequestId;
  /** The owner of its run; absent for `default`. */
  readonly owner?: string;
  readonly runId: RunId;
  readonly phase: RequestPhase;
  readonly createdAt: number;
  readonly accepted: RecordPosition;
  readonly started?: number;
  readonly segment?: number;
  readonly completed?: number;
  /** The wake time; absent if it has none. */
  readonly wakeAt?: number;
  /** The asks that it is parked on; absent if there are none. */
  readonly parkedOn?: readonly RequestId[];
  /** What it waits for; absent unless it is parked without a wait for input. */
  readonly waitingFor?: WaitingFor;
  /** True if the run was removed; then only the ids and the phase `completed` are set. */
  readonly removed?: boolean;
}

/** A request in the list of the requests of all runs. */
export interface ListedRequestEntry extends RequestEntry {
  /** The agent of its run, and when this was updated, as its place in the list says. */
  readonly agent: string;
  readonly updatedAt: number;
}

/** A part of the list of the requests of all runs. */
export interface RequestEntryPage {
  readonly requests: readonly ListedRequestEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** How many runs were looked at one by one, if the page ends before it is full and is not the last one. */
  readonly looked?: number;
}

/** A part of the list of runs. */
export interface RunEntryPage {
  readonly runs: readonly RunEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of selected runs, if it was asked for. */
  readonly total?: number;
  /** How many runs were looked at one by one, if the page ends before it is full and is not the last one. */
  readonly looked?: number;
}
