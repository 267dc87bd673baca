import type { LoggedEvents } from "../protocol/events/texts.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { AuditMark } from "./audit.ts";
import type { SpentMark } from "./spending.ts";
import type { StatisticsEntry } from "./statistics.ts";
import type { LastTurn, RequestPhase, RunPhase, WaitingFor } from "../protocol/answers/status.ts";

/** A journal entry: part of a run's log like an event, but without an event id and never shown to clients. */
export interface LogRecord {
  /** 1, 2, 3 … in the run. */
  readonly n: number;
  /** The id of the preceding event, 0 before the first one. */
  readonly after: number;
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** What one append adds and changes, atomically. */
export interface Batch {
  /**
   * Encoded events, each a JSON object without a line break, and successive texts of one speaker; their ids continue
   * from the cursor's head. An engine may store texts as the events that `toEncoded` makes of them.
   */
  readonly events: LoggedEvents;
  /** Their numbers continue from the cursor's records; their `after` is between the old and the new head. */
  readonly records: readonly LogRecord[];
  /** Replaces the run's row. Required in a run's first batch. */
  readonly run?: RunRow;
  /** Changes of requests, oldest first. */
  readonly requests?: readonly RequestMark[];
  /** Changes of the run's references to things outside the log, oldest first. */
  readonly references?: readonly ReferenceMark[];
  /** A name of the run for `find`. The append fails with `conflict` if another run than `from` has the name. */
  readonly alias?: NewAlias;
  /** Waits of the run that open or close, oldest first. */
  readonly waits?: readonly WaitMark[];
  /** New entries of the run's outbox, and those that are done, oldest first. */
  readonly outbox?: readonly OutboxMark[];
  /** Schedules of the run that are made, changed or removed, oldest first. */
  readonly schedules?: readonly ScheduleMark[];
  /** What principals have done to the run, oldest first: new entries of the audit trail. */
  readonly audit?: readonly AuditMark[];
  /** What completions have used, and by how much a budget was raised. */
  readonly spent?: readonly SpentMark[];
  /** The turns and completions that end, added to those of their hour. */
  readonly statistics?: readonly StatisticsEntry[];
  /** Replaces the snapshot; covers everything up to the end of this batch. */
  readonly snapshot?: Json;
  /**
   * From then on the log of the run begins behind this place: what is before it is removed. A place that the run has not reached
   * moves it there, and the batch, which then has events, follows it. A base never moves back.
   */
  readonly base?: Base;
}

/** Where the log of a run begins, if its beginning was removed, and what its owner keeps of that. */
export interface Base {
  /** The id of the last event that was removed. */
  readonly head: number;
  /** The number of records that were removed: all before that event. */
  readonly records: number;
  readonly data: Json;
}

/** The data of a run for the list of runs. */
export interface RunRow {
  readonly agent: string;
  /** Whose run it is; absent for the owner `default`. It never changes. */
  readonly owner?: string;
  readonly status: RunPhase;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly turns: number;
  readonly initialInput: Json;
  readonly metadata: JsonObject;
  /** The request whose turn has started and not ended. */
  readonly started?: RequestId;
  /** The newest turn. */
  readonly lastTurn?: LastTurn;
  /** The usage of all turns that have ended. */
  readonly usage?: Usage;
}

/** A change of a request's entry. Absent fields stay unchanged. Each owner has its own ids of requests. */
export interface RequestMark {
  readonly requestId: RequestId;
  readonly phase: RequestPhase;
  /** When the request was accepted, in milliseconds since 1970; only in its first mark. */
  readonly createdAt?: number;
  /** The record that accepted it; only in its first mark. */
  readonly accepted?: RecordPosition;
  /** The id of its RequestStarted. */
  readonly started?: number;
  /** The id of the event at which the current segment starts. */
  readonly segment?: number;
  /** The id of the newest event at completion: its RequestCompleted. */
  readonly completed?: number;
  /**
   * When a parked request must continue, in milliseconds since 1970; 0 for no such time. A completed request has none. An
   * engine rounds a fraction up.
   */
  readonly wakeAt?: number;
  /**
   * The asks of other actors that the request is parked on, if it is parked on nothing else; empty if it is not parked. A
   * completed request never is.
   */
  readonly parkedOn?: readonly RequestId[];
  /**
   * What a parked request waits for, if it does not wait for input; `null` when it works again. A completed request
   * waits for nothing.
   */
  readonly waitingFor?: WaitingFor | null;
}

/** Opens or closes a wait for input. The end of a request closes all its waits. */
export interface WaitMark {
  /** The id of its WaitForInput. */
  readonly waitId: number;
  readonly requestId: RequestId;
  /** When it was opened, in milliseconds since 1970. */
  readonly openedAt: number;
  /** True if it closes. */
  readonly closed?: boolean;
}

/** Adds an entry to a run's outbox: a message to another actor that is sent again until it has arrived. */
export interface OutboxMark {
  /** The request that the message is about. */
  readonly requestId: RequestId;
  /**
   * `reply`: the request has ended; `cancel`: its sender no longer wants it; `notice`: an event is sent to the watchers of the
   * run. A `dead` one is not sent: it is a dead letter, which is kept until someone sends it again or dismisses it.
   */
  readonly kind: OutboxKind;
  /** The id of the event that the message is made from: RequestCompleted, ToolCall, ToolError or MessageReceived. */
  readonly event: number;
  /** True if the message has arrived; the entry is then removed. */
  readonly done?: boolean;
}

export type OutboxKind = "reply" | "cancel" | "notice" | "dead";

/** Makes a schedule of a run, replaces it, or removes it. */
export interface ScheduleMark {
  /** Unique in the run. */
  readonly id: string;
  /** When it is to be looked at next, in milliseconds since 1970; absent if there is no such time. */
  readonly due?: number;
  /** What it is; absent if the schedule is removed. */
  readonly data?: JsonObject;
}

/** A name that a client gives to a run. Each agent of each owner has its own aliases. */
export interface RunAlias {
  /** Absent for the owner `default`. */
  readonly owner?: string;
  readonly agent: string;
  readonly name: string;
}

/** A name that an append gives to its run. */
export interface NewAlias extends RunAlias {
  /**
   * The run that loses the name to this one, with all of its schedules. The append fails with `conflict` if neither of them has
   * the name.
   */
  readonly from?: RunId;
}

/**
 * Adds or drops a run's reference to something stored outside the log. The log counts references, so that
 * the thing can be removed when no run needs it.
 */
export interface ReferenceMark {
  readonly thing: string;
  /** True if the reference is dropped. */
  readonly dropped?: boolean;
}

/** The position of a record. */
export interface RecordPosition {
  readonly n: number;
  readonly after: number;
}
