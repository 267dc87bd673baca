import { AgentError } from "../../errors.ts";
import type { RequestEntry, RequestMark } from "../../ports/event-log.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** Applies a mark to a request's entry; `conflict` if the request belongs to another run. */
export function applyMark(entry: RequestEntry | undefined, runId: RunId, mark: RequestMark): RequestEntry {
  if (entry !== undefined && entry.runId !== runId) {
    throw new AgentError("conflict", `request ${mark.requestId} belongs to run ${entry.runId}`);
  }
  const marked = { ...(entry ?? { createdAt: 0, accepted: { n: 0, after: 0 } }), ...mark, runId };
  const isAwake = marked.wakeAt !== undefined && (marked.wakeAt === 0 || marked.phase === "completed");
  const isActive = marked.rests !== undefined && (marked.rests.length === 0 || marked.phase === "completed");
  if (!isAwake && !isActive) return marked;
  const { wakeAt, rests, ...rest } = marked;
  return {
    ...rest,
    ...(!isAwake && wakeAt !== undefined && { wakeAt }),
    ...(!isActive && rests !== undefined && { rests }),
  };
}

/** The entry of a request whose run was removed. */
export function toRemovedRequest(requestId: RequestId, runId: RunId): RequestEntry {
  return {
    requestId,
    runId,
    phase: "completed",
    createdAt: 0,
    accepted: { n: 0, after: 0 },
    removed: true,
  };
}
