import type { ArtifactId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RunProjection } from "../../../view/run-projection.ts";
import type { RunView } from "../../../view/run-reader.ts";
import type { Segment } from "../../../view/segment.ts";
import type { RunDetails } from "../../../runtime/lists.ts";

/** The newest segment of the open request, else that of the request that ended last. */
export function newestOf({ requests }: RunProjection): Segment | undefined {
  let newest = requests.findLast(({ end }) => end === undefined);
  // A request that is canceled in the queue begins after the running one and ends before it.
  if (newest === undefined) {
    for (const request of requests)
      if ((request.end?.eventId ?? 0) > (newest?.end?.eventId ?? 0)) newest = request;
  }
  return newest?.segments.at(-1);
}

/** Whether the agent works on a segment now. */
export function isRunning({ run }: RunView, { end, isAnswered }: Segment): boolean {
  return run.status === "running" && end === undefined && !isAnswered;
}

/** The files that clients have uploaded since the last turn began. */
export function uploadsOf({ files, requests }: RunProjection): readonly ArtifactId[] {
  const began = requests.at(-1)?.segments[0]?.id ?? 0;
  return files.flatMap(({ isGenerated, eventId, artifactId }) =>
    isGenerated || eventId < began ? [] : [artifactId],
  );
}

/** The input of a run, or of its first request if it was created without one. */
export function inputOf(
  { initial_input: input }: RunDetails,
  projection: RunProjection | undefined,
): string | null {
  return toText(input) ?? toText(projection?.requests[0]?.segments[0]?.input ?? null);
}

/** A value as the text that clients see. */
export function toText(value: Json): string | null {
  return value === null || typeof value === "string" ? value : JSON.stringify(value);
}
