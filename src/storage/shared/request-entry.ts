import { AgentError } from "../../errors.ts";
import type { RequestEntry, RequestMark } from "../../ports/event-log.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** Applies a mark to a request's entry; `conflict` if the request belongs to another run. */
export function applyMark(entry: RequestEntry | undefined, runId: RunId, mark: RequestMark): RequestEntry {
  if (entry !== undefined && entry.runId !== runId) {
    throw new AgentError("conflict", `request ${mark.requestId} belongs to run ${entry.runId}`);
  }
  const { wakeAt: wakeBefore, waitingFor: waitingBefore, rests: restsBefore, ...before } = entry ?? NEW;
  const { wakeAt = wakeBefore, waitingFor = waitingBefore, rests = restsBefore, ...changed } = mark;
  const isOver = mark.phase === "completed";
  return {
    ...before,
    ...changed,
    runId,
    ...(wakeAt !== undefined && wakeAt > 0 && !isOver && { wakeAt }),
    ...(waitingFor && !isOver && { waitingFor }),
    ...(rests !== undefined && rests.length > 0 && !isOver && { rests }),
  };
}

const NEW: Pick<RequestEntry, "createdAt" | "accepted" | "wakeAt" | "waitingFor" | "rests"> = {
  createdAt: 0,
  accepted: { n: 0, after: 0 },
};

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
