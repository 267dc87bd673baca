import { Cron } from "croner";
import type { AgentError } from "../../errors.ts";
import { FIRST_TIME_MS, LAST_TIME_MS } from "../../protocol/ids.ts";
import { errorMessage } from "./error-message.ts";

/** When a schedule is due: at the times of a cron text, again and again, or once. */
export type ScheduleTimes =
  | { readonly cron: string; readonly timezone: string }
  /** Milliseconds. */
  | { readonly everyMs: number }
  /** Milliseconds since 1970. */
  | { readonly at: number };

/** The times of a schedule, in milliseconds since 1970. */
export interface DueTimes {
  /** The first time after a time; `Infinity` if there is none. */
  next(after: number): number;
  /** The newest time up to a time; `undefined` if there is none. */
  newest(until: number): number | undefined;
}

/** The shortest time between two times of a schedule, in milliseconds. */
const SHORTEST_MS = 100;

/** The longest one, 100 years: each of its times is one that can be written as a date. */
export const LONGEST_MS: number = 100 * 365.25 * 24 * 3_600_000;

/** Makes what is checked here: `refuse` makes the error from a fact. */
type Refuse = (fact: string) => AgentError;

/** The times; `since` is when the schedule was made, from which on `everyMs` counts. */
export function toDueTimes(times: ScheduleTimes, since: number, refuse: Refuse): DueTimes {
  if ("cron" in times) return cronTimes(times.cron, times.timezone, refuse);
  if ("everyMs" in times) {
    const { everyMs } = times;
    if (!(everyMs >= SHORTEST_MS && everyMs <= LONGEST_MS))
      throw refuse(`is due every ${String(everyMs)} ms; use ${SHORTEST_MS} ms to 100 years`);
    const stepsUntil = (time: number): number => Math.floor((time - since) / everyMs);
    return {
      next: (after) => since + Math.max(stepsUntil(after) + 1, 1) * everyMs,
      newest: (until) => (stepsUntil(until) < 1 ? undefined : since + stepsUntil(until) * everyMs),
    };
  }
  const { at } = times;
  if (!(at >= FIRST_TIME_MS && at <= LAST_TIME_MS))
    throw refuse(`is due at ${String(at)}; use milliseconds since 1970, up to those of the year 9999`);
  return {
    next: (after) => (after < at ? at : Infinity),
    newest: (until) => (until < at ? undefined : at),
  };
}

/**
 * The times of a cron text. Those before and after the newest query are kept, because timers ask more often than times
 * pass.
 */
function cronTimes(fields: string, timezone: string, refuse: Refuse): DueTimes {
  const cron = toCron(fields, timezone, refuse);
  let newest: number | undefined;
  let next = -Infinity;
  let from = Infinity;
  const find = (time: number): void => {
    if (time >= from && time < next) return;
    // croner takes the times before the given one.
    newest = cron.previousRuns(1, new Date(time + 1))[0]?.getTime();
    next = cron.nextRun(new Date(time))?.getTime() ?? Infinity;
    from = newest ?? time;
  };
  return {
    next: (after) => {
      find(after);
      return next;
    },
    newest: (until) => {
      find(until);
      return newest;
    },
  };
}

/** croner finds a wrong time zone, and a day that no month has, only when it computes a time. */
function toCron(fields: string, timezone: string, refuse: Refuse): Cron {
  if (typeof fields !== "string" || !/^\s*\S+(?:\s+\S+){4}\s*$/.test(fields))
    throw refuse(`has the cron text ${JSON.stringify(fields)}, which does not have five fields`);
  let first: Date | null;
  let cron: Cron;
  try {
    cron = new Cron(fields, { mode: "5-part", timezone });
    first = cron.nextRun(START);
  } catch (thrown) {
    throw refuse(`cannot run at "${fields}" in the time zone ${timezone}: ${errorMessage(thrown)}`);
  }
  if (first === null) throw refuse(`never runs: no time fits "${fields}"`);
  return cron;
}

/** The times repeat in a cycle of 28 years, so any start finds one. */
const START = new Date(0);
