import type { RequestMark } from "../../ports/log-batch.ts";

/** The fields of a mark for SQL, without its ids and its phase. `null` leaves a column unchanged. */
export type EncodedMark = readonly [
  createdAt: number | null,
  acceptedN: number | null,
  acceptedAfter: number | null,
  started: number | null,
  segment: number | null,
  completed: number | null,
  /** 0 if the request has no wake time any more. */
  wakeAt: number | null,
  /** The asks that it rests on, as JSON. */
  rests: string | null,
  /** JSON; empty if the request works again. */
  waitingFor: string | null,
];

/** Encodes a mark. A completed request has no wake time, rests on nothing and waits for nothing. */
export function encodeMark(mark: RequestMark): EncodedMark {
  const isOver = mark.phase === "completed";
  const { wakeAt = null, rests, waitingFor } = mark;
  return [
    mark.createdAt ?? null,
    mark.accepted?.n ?? null,
    mark.accepted?.after ?? null,
    mark.started ?? null,
    mark.segment ?? null,
    mark.completed ?? null,
    isOver ? 0 : wakeAt,
    isOver ? "[]" : rests === undefined ? null : JSON.stringify(rests),
    isOver || waitingFor === null ? "" : waitingFor === undefined ? null : JSON.stringify(waitingFor),
  ];
}
