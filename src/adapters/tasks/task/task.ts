import type { ArtifactId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import type { RunView } from "../../../view/run-view.ts";
import { segmentsOf } from "../../../view/segments.ts";
import type { Segment } from "../../../view/segments.ts";
import type { RunDetails } from "../../../runtime/lists.ts";

/** The newest segment of the open request, else that of the request that ended last. */
export function newestOf(
  view: RunView,
  segments: readonly Segment[] = segmentsOf(view),
): Segment | undefined {
  let newest = view.turns.findLast(({ outcome }) => outcome === undefined);
  // A request that is canceled in the queue begins after the running one and ends before it.
  if (newest === undefined) {
    for (const turn of view.turns) if ((turn.endedId ?? 0) > (newest?.endedId ?? 0)) newest = turn;
  }
  return segments.findLast(({ turn }) => turn === newest);
}

/** Whether a segment goes on without its caller. One that is held goes on when code is served that can continue it. */
export function isRunning({ run, isWaiting }: RunReading, { end, isAnswered }: Segment): boolean {
  return run.status !== "idle" && !isWaiting && end === undefined && !isAnswered;
}

/** The files that clients have uploaded since the last turn began. */
export function uploadsOf({ files, turns }: RunView): readonly ArtifactId[] {
  const began = turns.at(-1)?.startedId ?? 0;
  return files.flatMap(({ isGenerated, eventId, artifactId }) =>
    isGenerated || eventId < began ? [] : [artifactId],
  );
}

/** The input of a run, or of its first request if it was created without one. */
export function inputOf({ initial_input: input }: RunDetails, view: RunView | undefined): string | null {
  return toInputText(input) ?? toInputText(view?.turns[0]?.input ?? null);
}

/** A value as the text that clients see. */
export function toInputText(value: Json): string | null {
  return value === null || typeof value === "string" ? value : JSON.stringify(value);
}
