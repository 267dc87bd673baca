import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import { ownerOf } from "../../ports/principal.ts";
import { requestIdOf } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestStatus, WaitingFor } from "../../protocol/answers/status.ts";
import { CHAT } from "../agent/agent.ts";
import { isMessage, readAccepted, readEvent, readMessage } from "../replay/accepted.ts";
import { findLast } from "./find-last.ts";
import type { Show } from "./shown-events.ts";

/** The status of a request in the protocol's form. */
export async function toStatus(log: EventLog, entry: RequestEntry, show?: Show): Promise<RequestStatus> {
  if (isMessage(entry)) return toMessageStatus(entry, await readMessage(log, entry));
  const { request, agent } = await readAccepted(log, entry);
  const base = {
    request_id: entry.requestId,
    run_id: entry.runId,
    agent,
    operation: request.type === "ChatRequest" ? CHAT : request.operation,
    status: entry.phase,
    created_at: new Date(entry.createdAt).toISOString(),
  };
  switch (entry.phase) {
    case "queued":
      return { ...base, last_event_id: 0 };
    case "completed":
      return { ...base, ...(await completion(log, entry)), last_event_id: entry.completed ?? 0 };
    case "running":
    case "waiting":
    case "held": {
      const question = await oldestQuestion(log, entry);
      if (question === undefined && entry.phase === "waiting") {
        // The wait was answered after the lookup, so the entry is read again.
        const later = await log.lookup(entry.requestId, ownerOf(entry));
        return toStatus(log, later ?? { ...entry, phase: "running" }, show);
      }
      const wait =
        question === undefined ? undefined : (JSON.parse(show?.(question) ?? question) as WaitEvent);
      // A request that is held takes answers, too.
      const isAsking = wait !== undefined && entry.phase !== "running";
      const asked = isAsking && {
        request_keys: wait.request_keys,
        ...(wait.question !== undefined && { question: wait.question }),
        wait_id: wait.wait_id,
      };
      const lastTurn = entry.phase === "waiting" ? undefined : (await log.run(entry.runId))?.lastTurn;
      const { held, canceling } = lastTurn?.request_id === entry.requestId ? lastTurn : {};
      const waitingFor = wait ? toWaitingFor(wait) : entry.waitingFor;
      const rest = {
        ...(waitingFor && { waiting_for: waitingFor }),
        ...(entry.wakeAt !== undefined && { wake_at: new Date(entry.wakeAt).toISOString() }),
      };
      return {
        ...base,
        ...(canceling && entry.phase === "running" && { status: "canceling" as const }),
        ...asked,
        ...(held && entry.phase === "held" && { held }),
        ...rest,
        last_event_id: await newestEvent(log, entry),
      };
    }
    default: {
      const never: never = entry.phase;
      return never;
    }
  }
}

/** A message is completed when it is in the log. */
function toMessageStatus(
  { requestId, runId, createdAt }: RequestEntry,
  { id, agent, name, ts }: Event & { readonly type: "MessageReceived" },
): RequestStatus {
  return {
    request_id: requestId,
    run_id: runId,
    agent,
    operation: name,
    status: "completed",
    finish_reason: "success",
    result: null,
    output: null,
    created_at: new Date(createdAt).toISOString(),
    completed_at: ts,
    last_event_id: id,
  };
}

type WaitEvent = Event & { readonly type: "WaitForInput" };

function toWaitingFor({ wait_id, expires_at, approvers, tool }: WaitEvent): WaitingFor {
  const end = expires_at !== undefined && { expires_at };
  if (tool) return { kind: "tool", wait_id, ...tool, ...end };
  return { kind: "input", wait_id, ...(approvers && { approvers }), ...end };
}

/** The id of the newest event of a request. Uploads can be newer in its run, but belong to no request. */
async function newestEvent(log: EventLog, { runId, requestId, started }: RequestEntry): Promise<number> {
  const isOfRequest = (text: string): boolean => requestIdOf(text) === requestId;
  return (await findLast(log, runId, isOfRequest, { from: started }))?.id ?? 0;
}

async function completion(log: EventLog, entry: RequestEntry): Promise<Partial<RequestStatus>> {
  const text = await readEvent(log, entry, entry.completed ?? 0);
  const event = JSON.parse(text) as Event & { readonly type: "RequestCompleted" };
  return {
    finish_reason: event.finish_reason,
    result: event.result,
    output: event.output,
    ...(event.error && { error: event.error }),
    completed_at: event.ts,
  };
}

/** The oldest open wait of a request, as its encoded event. */
export async function oldestQuestion(
  log: EventLog,
  { runId, requestId }: Pick<RequestEntry, "runId" | "requestId">,
): Promise<string | undefined> {
  const { waits } = await log.waits({ runId, requestId, limit: 1 });
  const [oldest] = waits;
  return oldest && readEvent(log, { runId, requestId }, oldest.waitId);
}
