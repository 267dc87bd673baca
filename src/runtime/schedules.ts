import type { ScheduleRequest, ScheduleSummary } from "../protocol/answers/schedule.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Receipt } from "./api.ts";

/** Times at which actors get requests and messages: those of definitions, and those that actors and clients have made. */
export interface RuntimeSchedules {
  /** Lists them in a fixed order. */
  list(query: SchedulesQuery): Promise<SchedulesPage>;

  /** Makes a schedule of an actor, or replaces the one with the `id`; an actor that is named by its key is created if there is none. */
  make(agent: string, schedule: ScheduleRequest): Promise<ScheduleSummary>;

  /** Leaves its times out until it is resumed. */
  pause(runId: RunId, id: string): Promise<ScheduleSummary>;

  /** Goes on with the times from now on; a time that comes once and has passed meanwhile is made up for. */
  resume(runId: RunId, id: string): Promise<ScheduleSummary>;

  /** Removes a schedule; one that is not there was removed before. One of a definition can only be paused. */
  remove(runId: RunId, id: string): Promise<void>;

  /** Sends its request now, besides its times. */
  run(runId: RunId, id: string, options?: { readonly requestId?: RequestId }): Promise<Receipt>;
}

/** Selects schedules. */
export interface SchedulesQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  /** Only those of actors of this agent. */
  readonly agent?: string;
  /** Only those of the actor of the agent with this key. */
  readonly key?: string;
  readonly runId?: RunId;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of a list of schedules. */
export interface SchedulesPage {
  readonly schedules: readonly ScheduleSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}
