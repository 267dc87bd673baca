import type { By, SenderRef } from "../actors.ts";
import type { RequestId, RunId } from "../ids.ts";
import type { Json } from "../json.ts";

/** Times at which an actor gets a request or a message: those of the definition of its agent, and those made since. */
export interface ScheduleSummary {
  /** Unique among the schedules of the actor; of one that its agent defines, the name. */
  readonly id: string;
  readonly agent: string;
  /** The key of the actor, if it has one. */
  readonly key?: string;
  readonly run_id: RunId;
  /** Absent for `default`. */
  readonly owner?: string;
  /** The operation or the message. */
  readonly operation: string;
  readonly input: Json;
  /** Five fields, with the time zone. Absent for the others. */
  readonly cron?: string;
  readonly timezone?: string;
  readonly every_ms?: number;
  /** ISO 8601, UTC, as all times here. */
  readonly at?: string;
  /** What happens at a time when the request of an earlier one is open. */
  readonly overlap: "skip" | "queue";
  /** Whether the definition of the agent has it. */
  readonly defined: boolean;
  readonly paused: boolean;
  readonly next_at?: string;
  /** The newest time whose request was sent, or refused with an error. */
  readonly last?: {
    readonly at: string;
    readonly request_id: RequestId;
    readonly error?: { readonly code: string; readonly message: string };
  };
  /** The actor that made it. */
  readonly sender?: SenderRef;
  /** Who made it. */
  readonly by?: By;
}

/** What a schedule is to be: one of `cron`, `every_ms`, `at` and `after_ms` says when. */
export interface ScheduleRequest {
  /** The actor: `key`, which creates it if there is none, or `run_id`. */
  readonly key?: string;
  readonly run_id?: RunId;
  /** Replaces the schedule of the actor that has it. Default: a new one. */
  readonly id?: string;
  readonly operation: string;
  /** Default `{}`. */
  readonly input?: Json;
  readonly cron?: string;
  /** Default `UTC`. */
  readonly timezone?: string;
  readonly every_ms?: number;
  /** ISO 8601. */
  readonly at?: string;
  readonly after_ms?: number;
  /** Default `skip`; `queue` for a time that comes once. */
  readonly overlap?: "skip" | "queue";
}
