import { AgentError } from "../../errors.ts";
import type { RequestEntry, RunEntry } from "../../ports/log-entries.ts";
import type { RequestMark } from "../../ports/log-batch.ts";
import { toOwned } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** Applies a mark to a request's entry; `conflict` if the request belongs to another run. */
export function applyMark(entry: RequestEntry | undefined, runId: RunId, mark: RequestMark): RequestEntry {
  if (entry !== undefined && entry.runId !== runId) {
    throw new AgentError("conflict", `request ${mark.requestId} belongs to run ${entry.runId}`);
  }
  const marked = { ...(entry ?? NEW), ...mark, runId };
  // Most requests are never parked, and a copy without some fields is ten times slower than one with all.
  if (marked.wakeAt === undefined && marked.waitingFor === undefined && marked.parkedOn === undefined)
    return marked as RequestEntry;
  const { wakeAt = 0, waitingFor = null, parkedOn = [], ...others } = marked;
  if (mark.phase === "completed") return others;
  return {
    ...others,
    ...(wakeAt > 0 && { wakeAt: Math.ceil(wakeAt) }),
    ...(waitingFor && { waitingFor }),
    ...(parkedOn.length > 0 && { parkedOn }),
  };
}

const NEW: Pick<RequestEntry, "createdAt" | "accepted"> = { createdAt: 0, accepted: { n: 0, after: 0 } };

/** The entry of a request whose run was removed. */
export function toRemovedRequest(requestId: RequestId, runId: RunId, owner: string): RequestEntry {
  return {
    requestId,
    runId,
    ...toOwned(owner),
    phase: "completed",
    createdAt: 0,
    accepted: { n: 0, after: 0 },
    removed: true,
  };
}

/** The row of a removed run. */
export function toRemovedEntry(runId: RunId, owner: string): RunEntry {
  return {
    runId,
    ...toOwned(owner),
    head: 0,
    agent: "",
    status: "idle",
    createdAt: 0,
    updatedAt: 0,
    turns: 0,
    initialInput: null,
    metadata: {},
    removed: true,
  };
}
