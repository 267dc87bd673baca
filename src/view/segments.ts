import type { RequestId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { FileView, PartView, RunView, TurnView, WaitView } from "./run-view.ts";

/**
 * What happened in a turn between two moments at which its caller acts: it begins with the start of the turn, with an
 * answer or with the expiry of a wait, and ends with the next of them or with the end of the turn.
 */
export interface Segment {
  /** The id of the event that began it. */
  readonly id: number;
  readonly turn: TurnView;
  /** The answer that began it; absent if the start of the turn or the expiry of a wait began it. */
  readonly answer?: GivenValues;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** In order, at all depths; the first one is what began it. */
  readonly parts: readonly PartView[];
  /** The open waits, oldest first, also those that an earlier segment asked; of a past segment those at its end. */
  readonly waits: readonly WaitView[];
  /** Whether a later answer, or the expiry of a wait, has begun another segment of the turn. */
  readonly isAnswered: boolean;
  /** The turn, if it has ended in this segment. */
  readonly end?: TurnView;
}

/** An answer to a wait. */
export interface GivenValues {
  readonly waitId: number;
  readonly values: JsonObject;
}

/** The segments of all turns of a run, in the order in which they began; the events of turns may interleave. */
export function segmentsOf(view: RunView): readonly Segment[] {
  const segments: SegmentDraft[] = [];
  const newest = new Map<RequestId, SegmentDraft>();
  const turns = new Map(view.turns.map((turn) => [turn.requestId, turn]));
  for (const part of view.parts) {
    const turn = part.requestId === null ? undefined : turns.get(part.requestId);
    if (turn === undefined) continue;
    let segment = newest.get(turn.requestId);
    if (segment === undefined || part.kind === "answer" || part.kind === "expiry") {
      if (segment !== undefined) segment.endedId = part.id;
      segment = toSegment(turn, part, segment === undefined);
      segments.push(segment);
      newest.set(turn.requestId, segment);
    }
    segment.parts.push(part);
  }
  return segments.map(({ endedId, ...segment }) => ({
    ...segment,
    waits:
      endedId === undefined
        ? openWaitsOf(view, segment.turn.requestId)
        : waitsAt(view, segment.turn.requestId, endedId),
    isAnswered: endedId !== undefined,
    ...(endedId === undefined && segment.turn.outcome !== undefined && { end: segment.turn }),
  }));
}

/** The open waits of a turn, oldest first. */
export function openWaitsOf({ waits }: RunView, requestId: RequestId | undefined): readonly WaitView[] {
  return waits.filter((wait) => wait.state === "open" && wait.requestId === requestId);
}

/** What the agent itself has said in some parts. */
export function textOf(parts: readonly PartView[]): string {
  return parts.map((part) => (part.kind === "text" && part.depth === 0 ? part.text : "")).join("");
}

/** The files among some parts. */
export function filesOf(parts: readonly PartView[]): readonly FileView[] {
  return parts.flatMap((part) => (part.kind === "file" ? [part.file] : []));
}

/** A segment while its parts are collected. */
interface SegmentDraft extends Omit<Segment, "waits" | "isAnswered" | "end"> {
  readonly parts: PartView[];
  /** The event that began the next segment. */
  endedId: number | undefined;
}

function toSegment(turn: TurnView, part: PartView, isFirst: boolean): SegmentDraft {
  return {
    id: isFirst ? turn.startedId : part.id,
    turn,
    ...(part.kind === "answer" && { answer: { waitId: part.waitId, values: part.values } }),
    startedAt: isFirst ? turn.startedAt : part.at,
    parts: [],
    endedId: undefined,
  };
}

/** The waits of a turn that were open before the event that ended one of its segments. */
function waitsAt({ waits, calls }: RunView, asker: RequestId, endedId: number): readonly WaitView[] {
  return waits.filter(
    ({ requestId, waitId, call }) =>
      requestId === asker && waitId < endedId && (calls.get(call)?.endedId ?? endedId) >= endedId,
  );
}
