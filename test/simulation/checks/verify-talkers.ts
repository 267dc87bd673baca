import type { EventLog } from "../../../src/ports/event-log.ts";
import type { Event, EventType } from "../../../src/protocol/events/events.ts";
import type { AcceptedRequest } from "../../../src/runtime/journal/records.ts";
import type { LoggedRun, Observer } from "./observer.ts";

type Typed<Type extends EventType> = Event & { readonly type: Type };

/** The laws of asks and tells, over the logs of all runs, when no work is left. */
export async function verifyTalkers({
  observer,
  disk: { log },
}: {
  readonly observer: Observer;
  readonly disk: { readonly log: EventLog };
}): Promise<void> {
  const { faults, requests, runs } = observer;
  const messages = messagesIn(runs);
  for (const [runId, run] of runs) {
    if (run.removed) continue;
    const ends = endsOf(run);
    for (const event of run.events) {
      if (event.type !== "ToolCall" || event.mode === undefined || event.forked_from) continue;
      const { tool_call_id: callId, mode, callee } = event;
      const requestId = callee?.request_id ?? "";
      const there = requests.get(requestId);
      const starts = startsOf(runs, requestId);
      if (starts > 1) faults.push(`${mode} ${callId} of ${runId} started ${starts} turns`);
      const end = ends.get(callId);
      const isHere = requests.get(event.request_id)?.end !== undefined;
      if (end === undefined) {
        faults.push(`${mode} ${callId} of ${runId} has no outcome`);
        continue;
      }
      if (mode === "tell") {
        if (end.type === "ToolResult" && there === undefined && !messages.has(requestId))
          faults.push(`tell ${callId} of ${runId} is lost`);
        continue;
      }
      if (there !== undefined && there.end === undefined && isHere)
        faults.push(`ask ${callId} of ${runId} has ended, and its request ${requestId} has not`);
      const completed = there?.end;
      if (end.type === "ToolResult" && JSON.stringify(end.result) !== JSON.stringify(completed?.output))
        faults.push(`ask ${callId} of ${runId} has another result than its request`);
      if (end.type === "ToolError" && end.code === "tool_error" && completed?.finish_reason !== "error")
        faults.push(`ask ${callId} of ${runId} failed, and its request did not`);
    }
    faults.push(...whatIsOutOfOrder(runId, run, observer));
  }
  for (const { runId, kind, requestId } of await log.outbox({}))
    faults.push(`the ${kind} of ${requestId} is still in the outbox of ${runId}`);
  for (const { requestId } of await log.resting()) faults.push(`${requestId} rests on asks without end`);
}

function endsOf({ events }: LoggedRun): Map<string, Typed<"ToolResult" | "ToolError">> {
  const ends = new Map<string, Typed<"ToolResult" | "ToolError">>();
  for (const event of events)
    if (event.type === "ToolResult" || event.type === "ToolError") ends.set(event.tool_call_id, event);
  return ends;
}

/** The ids of all messages. */
function messagesIn(runs: Observer["runs"]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { events } of runs.values())
    for (const event of events) if (event.type === "MessageReceived") ids.add(event.message_id);
  return ids;
}

function startsOf(runs: Observer["runs"], requestId: string): number {
  let starts = 0;
  for (const { events } of runs.values())
    for (const event of events)
      if (event.type === "RequestStarted" && event.request_id === requestId && !event.forked_from)
        starts += 1;
  return starts;
}

/** The requests of a run that another run accepted are in the order of their calls, unless they were canceled before. */
function whatIsOutOfOrder(
  from: string,
  { events }: LoggedRun,
  { requests, runs }: Observer,
): readonly string[] {
  const calls = new Map<string, number>();
  for (const event of events)
    if (event.type === "ToolCall" && event.callee?.request_id !== undefined)
      calls.set(event.callee.request_id, event.id);
  if (calls.size === 0) return [];
  const faults: string[] = [];
  for (const [to, { records }] of runs) {
    let last = 0;
    for (const record of records) {
      if (record.type !== "Accepted") continue;
      const { requestId, sender } = record["accepted"] as unknown as AcceptedRequest;
      const at = calls.get(requestId);
      if (at === undefined || sender?.run_id !== from) continue;
      // A cancel may come before the request that it cancels.
      if (requests.get(requestId)?.end?.finish_reason === "canceled") continue;
      if (at < last) faults.push(`${requestId} of ${from} was accepted in ${to} out of order`);
      last = Math.max(last, at);
    }
  }
  return faults;
}
