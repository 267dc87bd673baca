import type { RunView } from "../../view/run-view.ts";
import type { Restart } from "../data/restarts.ts";

/** A mark on the scrubber: something happened at this event. */
export interface Mark {
  readonly id: number;
  readonly kind: "turn" | "question" | "failed" | "restart";
}

/** The marks of a run, in order; of very many, some evenly chosen ones. */
export function toMarks({ turns, waits }: RunView, restarts: readonly Restart[]): readonly Mark[] {
  const marks: Mark[] = [
    ...turns.map(({ startedId }): Mark => ({ id: startedId, kind: "turn" })),
    ...waits.map(({ waitId }): Mark => ({ id: waitId, kind: "question" })),
    ...turns.flatMap(({ endedId, outcome }): Mark[] =>
      endedId !== undefined && outcome === "error" ? [{ id: endedId, kind: "failed" }] : [],
    ),
    ...restarts.map(({ after }): Mark => ({ id: after, kind: "restart" })),
  ];
  marks.sort((a, b) => a.id - b.id);
  const step = Math.ceil(marks.length / MOST);
  return step <= 1 ? marks : marks.filter((_, at) => at % step === 0);
}

/** The event at which the turn before or after an event begins or ends; `undefined` for live. */
export function nextTurn({ turns, head }: RunView, at: number, step: 1 | -1): number | undefined {
  const stops = [1, ...turns.flatMap(({ startedId, endedId }) => [startedId, endedId ?? head]), head];
  const ordered = [...new Set(stops)].sort((a, b) => a - b);
  const next = step > 0 ? ordered.find((id) => id > at) : ordered.findLast((id) => id < at);
  return next === undefined && step < 0 ? 1 : next;
}

const MOST = 200;
