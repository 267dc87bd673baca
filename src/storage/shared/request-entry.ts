import { AgentError } from "../../errors.ts";
import type { RequestEntry, RequestMark } from "../../ports/event-log.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** Applies a mark to a request's entry; `conflict` if the request belongs to another run. */
export function applyMark(entry: RequestEntry | undefined, runId: RunId, mark: RequestMark): RequestEntry {
  if (entry !== undefined && entry.runId !== runId) {
    throw new AgentError("conflict", `request ${mark.requestId} belongs to run ${entry.runId}`);
  }
  const marked = { ...(entry ?? { createdAt: 0, accepted: { n: 0, after: 0 } }), ...mark, runId };
  if (marked.wakeAt === undefined || (marked.wakeAt > 0 && marked.phase !== "completed")) return marked;
  const { wakeAt: _, ...awake } = marked;
  return awake;
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
