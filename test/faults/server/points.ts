import type { ArtifactStore } from "../../../src/ports/artifact-store.ts";
import type { Cursor, EventLog } from "../../../src/ports/event-log.ts";

/** Points in the code of a server at which it can be killed. */
export const points = [
  "before append",
  "during commit",
  "after commit, before it is sent",
  "between call and effect",
  "after effect, before its result",
  "in the middle of a completion",
  "after completion, before its result",
  "between two halves of an artifact",
  "during recovery, before it is counted",
  "during recovery, after it is counted",
] as const;

/** The name of a point. */
export type Point = (typeof points)[number];

/** Reports that the code has reached a point; does not return if the process must die there. */
export type Reached = (point: Point) => void;

/** Makes the process die when it reaches a point for the n-th time. */
export function dieAt(point: string | undefined, times: number): Reached {
  let left = times;
  return (reached) => {
    if (reached !== point) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
  };
}

/** The log with a point before, in and after each append. */
export function withPoints(log: EventLog, reached: Reached): EventLog {
  return {
    ...log,
    async append(cursor, batch): Promise<Cursor> {
      const recovers = batch.records.some(({ type }) => type === "RecoveryStarted");
      if (recovers) reached("during recovery, before it is counted");
      reached("before append");
      const appended = log.append(cursor, batch);
      // The log passes its batch to the committing thread a macrotask later.
      setImmediate(() => setImmediate(() => reached("during commit")));
      const next = await appended;
      reached("after commit, before it is sent");
      if (recovers) reached("during recovery, after it is counted");
      return next;
    },
  };
}

/** The store with a point in the middle of the bytes of each artifact. */
export function artifactsWithPoints(artifacts: ArtifactStore, reached: Reached): ArtifactStore {
  return {
    ...artifacts,
    put: ({ body, ...artifact }) => artifacts.put({ ...artifact, body: inHalves(body, reached) }),
  };
}

async function* inHalves(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  reached: Reached,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    const half = chunk.length >>> 1;
    yield chunk.subarray(0, half);
    reached("between two halves of an artifact");
    yield chunk.subarray(half);
  }
}
