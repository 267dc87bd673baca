import type { RunSummary } from "../../protocol/answers/status.ts";
import type { ActorFacts } from "../data/actors.ts";

/** What the newest runs say in numbers. */
export interface Summary {
  /** How many turns run now. */
  readonly working: number;
  /** The median time of the newest turns that have ended. */
  readonly medianMs: number | undefined;
}

export function summarize(runs: readonly RunSummary[], actors: readonly ActorFacts[] | undefined): Summary {
  const times = runs
    .flatMap(({ last_turn: last }) =>
      last?.ended_at === undefined ? [] : [Date.parse(last.ended_at) - Date.parse(last.started_at)],
    )
    .sort((a, b) => a - b);
  const listed = runs.filter(({ status }) => status === "running").length;
  return {
    working: actors?.filter(({ status }) => status === "running").length ?? listed,
    medianMs: times[Math.floor(times.length / 2)],
  };
}

/** Turns of one agent that have failed for the same reason. */
export interface Failure {
  readonly agent: string;
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly newest: RunSummary;
}

/** Groups failed runs by agent and reason, the most frequent first. */
export function toFailures(runs: readonly RunSummary[]): readonly Failure[] {
  const groups = new Map<string, Failure>();
  for (const run of runs) {
    const { agent, last_turn: last } = run;
    if (last?.error_code === undefined) continue;
    const message = last.error_message ?? last.error_code;
    // The same sentence about another number, id or path is the same reason.
    const key = JSON.stringify([agent, last.error_code, message.replace(/[\d"'`/][^\s,;:]*/g, "#")]);
    const known = groups.get(key);
    if (known === undefined) {
      groups.set(key, { agent, code: last.error_code, message, count: 1, newest: run });
    } else groups.set(key, { ...known, count: known.count + 1 });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
