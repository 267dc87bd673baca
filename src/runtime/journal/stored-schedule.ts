import type { ScheduleEntry } from "../../ports/log-entries.ts";
import type { ScheduleMark } from "../../ports/log-batch.ts";
import type { By, Hops, SenderRef } from "../../protocol/actors.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { FIRST_TIME_MS, LAST_TIME_MS, isKey } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { AgentError } from "../../errors.ts";
import { digest } from "../../shared/digest.ts";
import { LONGEST_MS, toDueTimes } from "../agent/schedule-times.ts";
import type { ScheduleTimes, DueTimes } from "../agent/schedule-times.ts";

/** The message by which an actor makes or removes a schedule of another one. No agent can declare it. */
export const SCHEDULE = "$schedule";

/** What is sent at the times of a schedule, as its maker gives it. */
export interface NewSchedule {
  /** The name of an operation or a message. */
  readonly operation: string;
  readonly input: Json;
  readonly times: ScheduleTimes;
  readonly overlap: "skip" | "queue";
  /** What the ids of its requests are made from, with their times: another schedule has another one. */
  readonly seed: readonly string[];
}

/** The body of a message that makes or removes a schedule. */
export type ScheduleBody =
  | { readonly on: false; readonly id: string }
  | ({ readonly on: true; readonly id: string } & NewSchedule);

/** What the schedule sends that a message makes; null if it removes one. */
export function inputOfSchedule(body: Json): Json {
  const made = body as unknown as ScheduleBody;
  return made.on ? made.input : null;
}

/** A schedule of a run, as the log has it. */
export interface StoredSchedule extends NewSchedule {
  /** When it was made or resumed, in milliseconds since 1970: only times after that count. */
  readonly since: number;
  /** Whether the definition of the agent has it. */
  readonly isDefined?: true;
  readonly isPaused?: true;
  /** The actor that made it, and how many requests led to that. */
  readonly sender?: SenderRef;
  readonly hops?: Hops;
  /** Who made it. */
  readonly by?: By;
  /** The newest time whose request was sent or refused. */
  readonly last?: LastTime;
}

/** What became of a time of a schedule. */
export interface LastTime {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly requestId: RequestId;
  /** Why the request was not taken, if so. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** What a caller says about when something is sent, which may not be type-checked. */
export interface GivenTime {
  readonly id?: string | undefined;
  readonly at?: number | Date | undefined;
  readonly afterMs?: number | undefined;
  readonly everyMs?: number | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
  readonly overlap?: "skip" | "queue" | undefined;
}

/**
 * A schedule as a caller wants it; `what` is what it has called. Throws a TypeError for a time that is none, and `invalid_request` for an
 * id or times that cannot be.
 */
export function toNewSchedule(
  { operation, input, seed }: Pick<NewSchedule, "operation" | "input" | "seed">,
  { id = `sch_${digest(seed.join(" "))}`, overlap, ...when }: GivenTime,
  what: string,
  now: () => number,
): NewSchedule & { readonly id: string } {
  checkScheduleId(id);
  const times = toScheduleTimes(when, what, now);
  const made = { operation, input, times, seed };
  if (overlap !== undefined && overlap !== "skip" && overlap !== "queue")
    throw new TypeError(`the overlap of ${what} must be "skip" or "queue"`);
  checkTimes(times, id);
  return { id, ...made, overlap: overlap ?? (isOnce(made) ? "queue" : "skip") };
}

function toScheduleTimes(
  { at, afterMs, everyMs, cron, timezone = "UTC" }: GivenTime,
  what: string,
  now: () => number,
): ScheduleTimes {
  if ([at, afterMs, everyMs, cron].filter((each) => each !== undefined).length > 1)
    throw new TypeError(`${what} needs one time: \`at\`, \`afterMs\`, \`everyMs\` or \`cron\``);
  if (cron !== undefined) return { cron, timezone };
  if (everyMs !== undefined) return { everyMs };
  if (afterMs !== undefined) {
    if (Number.isFinite(afterMs) && afterMs >= 0) return { at: now() + afterMs };
    throw new TypeError(`the afterMs of ${what} must be milliseconds, 0 or more`);
  }
  const time = Number(at);
  if (Number.isFinite(time)) return { at: time };
  throw new TypeError(`${what} needs a time: \`at\`, \`afterMs\`, \`everyMs\` or \`cron\``);
}

/** The id of the request for a time, equal on each node. */
export function toScheduledId({ seed }: Pick<NewSchedule, "seed">, at: number): RequestId {
  return `sch_${digest(JSON.stringify([...seed, at]))}` as RequestId;
}

/** Throws `invalid_request` for times that cannot be. */
export function checkTimes(times: ScheduleTimes, id: string): void {
  toDueTimes(times, 0, refusalOf(id));
}

/** Its times. An earlier version allowed later times and longer intervals; here the last time and the longest interval stand for them. */
export function timesOf({ times, since }: Pick<StoredSchedule, "times" | "since">, id: string): DueTimes {
  const possible =
    "everyMs" in times
      ? { everyMs: Math.min(times.everyMs, LONGEST_MS) }
      : "at" in times
        ? { at: toPossible(times.at) }
        : times;
  return toDueTimes(possible, since, refusalOf(id));
}

function refusalOf(id: string): (fact: string) => AgentError {
  return (fact) => new AgentError("invalid_request", `schedule ${id} ${fact}`);
}

/** Whether it is due once. */
export function isOnce({ times }: Pick<NewSchedule, "times">): boolean {
  return "at" in times;
}

export function checkScheduleId(id: unknown): asserts id is string {
  if (typeof id === "string" && isKey(id)) return;
  throw new AgentError(
    "invalid_request",
    `${JSON.stringify(id)} is no id of a schedule: use 1 to 128 letters, digits and signs of _ - . : @`,
  );
}

/** The row of a schedule; `due` is when it is to be looked at. */
export function toMark(id: string, schedule: StoredSchedule, due: number): ScheduleMark {
  const isDue = schedule.isPaused !== true && due !== Infinity;
  return { id, data: schedule as unknown as JsonObject, ...(isDue && { due: Math.max(due, 1) }) };
}

export function fromEntry({ data }: Pick<ScheduleEntry, "data">): StoredSchedule {
  return data as unknown as StoredSchedule;
}

/** A schedule as callers see it. */
export function toScheduleSummary(
  entry: ScheduleEntry,
  { agent, alias: key }: { readonly agent: string; readonly alias?: string | undefined },
): ScheduleSummary {
  const { id, runId, owner, due } = entry;
  const { operation, input, times, overlap, isDefined, isPaused, sender, by, last } = fromEntry(entry);
  return {
    id,
    agent,
    ...(key !== undefined && { key }),
    run_id: runId,
    ...(owner !== undefined && { owner }),
    operation,
    input,
    ...("cron" in times && { cron: times.cron, timezone: times.timezone }),
    ...("everyMs" in times && { every_ms: times.everyMs }),
    ...("at" in times && { at: toText(times.at) }),
    overlap,
    defined: isDefined === true,
    paused: isPaused === true,
    ...(due !== undefined && { next_at: toText(due) }),
    ...(last && {
      last: { at: toText(last.at), request_id: last.requestId, ...(last.error && { error: last.error }) },
    }),
    ...(sender && { sender }),
    ...(by && { by }),
  };
}

function toText(at: number): string {
  return new Date(toPossible(at)).toISOString();
}

function toPossible(at: number): number {
  return Math.min(Math.max(at, FIRST_TIME_MS), LAST_TIME_MS);
}
