import type { EventLog } from "../../../src/ports/event-log.ts";
import type { LogRecord } from "../../../src/ports/log-batch.ts";
import type { EventType } from "../../../src/protocol/events/event-body.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import { toEntries } from "../history.ts";
import type { AcceptedRequest } from "../../../src/runtime/journal/records.ts";
import { carriedInto } from "../messages.ts";

type Typed<Type extends EventType> = Event & { readonly type: Type };

/** The log of a run. */
export interface ActorLog {
  readonly events: readonly Event[];
  readonly records: readonly LogRecord[];
  readonly removed: boolean;
}

/** What all logs have about a request. */
interface Found {
  accepted: number;
  starts: number;
  messages: number;
  end?: Typed<"RequestCompleted">;
}

/** The laws of asks and tells, over the logs of all runs; some hold only when no work is left. */
export function checkActors(
  runs: ReadonlyMap<string, ActorLog>,
  { isAtRest = true }: { readonly isAtRest?: boolean } = {},
): readonly string[] {
  const faults: string[] = [];
  const requests = findRequests(runs);
  for (const [runId, run] of runs) {
    if (run.removed) continue;
    const ends = endsOf(run);
    for (const event of run.events) {
      if (event.type !== "ToolCall" || event.mode === undefined || event.forked_from) continue;
      const end = ends.get(event.tool_call_id);
      const isOver = requests.get(event.request_id ?? "")?.end !== undefined;
      const there = requests.get(event.callee?.request_id ?? "");
      const what = `${event.mode} ${event.tool_call_id} of ${runId}`;
      faults.push(...checkSent(event, { end, there, isOver, isAtRest }).map((fault) => `${what} ${fault}`));
    }
  }
  faults.push(...findOutOfOrder(runs, requests));
  return faults;
}

/** What is left to deliver, and the turns that wait for it, when no work is left. */
export async function checkOutboxes(log: EventLog): Promise<readonly string[]> {
  const left = (await log.outbox({})).map(
    ({ runId, kind, requestId }) => `the ${kind} of ${requestId} is still in the outbox of ${runId}`,
  );
  const resting = (await log.parked({ limit: 1_000 })).map(
    ({ requestId }) => `${requestId} is parked on asks without end`,
  );
  return [...left, ...resting];
}

/** An ask or a tell is one turn or one message at most, and its outcome is the end of that turn. */
function checkSent(
  { mode }: Typed<"ToolCall">,
  {
    end,
    there,
    isOver,
    isAtRest,
  }: {
    readonly end: Typed<"ToolResult" | "ToolError"> | undefined;
    readonly there: Found | undefined;
    /** Whether the turn that sent it has ended. */
    readonly isOver: boolean;
    readonly isAtRest: boolean;
  },
): readonly string[] {
  const { accepted = 0, starts = 0, messages = 0, end: completed } = there ?? {};
  // An operation that joins the turn of a state machine is a request and a message.
  if (accepted > 1 || messages > 1 || starts > 1)
    return [`was taken ${accepted} times, as ${starts} turns and ${messages} messages`];
  if (end === undefined) return isAtRest ? ["has no outcome"] : [];
  if (mode === "tell") return end.type === "ToolResult" && accepted + messages === 0 ? ["is lost"] : [];
  const faults: string[] = [];
  if (isAtRest && isOver && accepted > 0 && completed === undefined)
    faults.push("has ended, and its request has not");
  if (end.type === "ToolResult" && JSON.stringify(end.result) !== JSON.stringify(completed?.output))
    faults.push("has another result than its request");
  if (end.type === "ToolError" && end.code === "tool_error" && completed?.finish_reason !== "error")
    faults.push("failed, and its request did not");
  return faults;
}

function findRequests(runs: ReadonlyMap<string, ActorLog>): ReadonlyMap<string, Found> {
  const requests = new Map<string, Found>();
  const of = (requestId: string): Found => {
    const found = requests.get(requestId) ?? { accepted: 0, starts: 0, messages: 0 };
    requests.set(requestId, found);
    return found;
  };
  for (const { events, records } of runs.values()) {
    const carried = carriedInto({ events, records }, runs);
    for (const record of records)
      if (record.type === "Accepted") of(acceptedIn(record).requestId).accepted += 1;
    for (const event of events) {
      if (event.forked_from) continue;
      if (event.type === "MessageReceived" && !carried.delete(event.message_id))
        of(event.message_id).messages += 1;
      if (event.depth > 0 || event.request_id === null) continue;
      if (event.type === "RequestStarted") of(event.request_id).starts += 1;
      if (event.type === "RequestCompleted") of(event.request_id).end = event;
    }
  }
  return requests;
}

function acceptedIn(record: LogRecord): AcceptedRequest {
  return record["accepted"] as unknown as AcceptedRequest;
}

function endsOf({ events }: ActorLog): Map<string, Typed<"ToolResult" | "ToolError">> {
  const ends = new Map<string, Typed<"ToolResult" | "ToolError">>();
  for (const event of events)
    if (event.type === "ToolResult" || event.type === "ToolError") ends.set(event.tool_call_id, event);
  return ends;
}

/**
 * What a run accepts from another run is in the order of its calls, unless it was canceled before. A tell that ended with an
 * error may arrive late, from a node that has lost its sender.
 */
function findOutOfOrder(
  runs: ReadonlyMap<string, ActorLog>,
  requests: ReadonlyMap<string, Found>,
): readonly string[] {
  const sent = new Map<string, { readonly from: string; readonly id: number }>();
  for (const [from, log] of runs) {
    const ends = endsOf(log);
    for (const event of log.events) {
      if (event.type !== "ToolCall" || event.mode === undefined || event.forked_from) continue;
      if (event.mode === "tell" && ends.get(event.tool_call_id)?.type === "ToolError") continue;
      sent.set(event.callee?.request_id ?? "", { from, id: event.id });
    }
  }
  if (sent.size === 0) return [];
  const faults: string[] = [];
  for (const [to, { events, records }] of runs) {
    const newest = new Map<string, number>();
    for (const entry of toEntries(events, records)) {
      const requestId = arrivingIn(entry);
      const call = sent.get(requestId);
      // A cancel may come before the request that it cancels.
      if (call === undefined || requests.get(requestId)?.end?.finish_reason === "canceled") continue;
      if (call.id < (newest.get(call.from) ?? 0)) faults.push(`${requestId} has come to ${to} out of order`);
      newest.set(call.from, Math.max(newest.get(call.from) ?? 0, call.id));
    }
  }
  return faults;
}

/** The request or the message that comes to a run with an entry of its log. */
function arrivingIn(entry: Event | LogRecord): string {
  if ("n" in entry) return entry.type === "Accepted" ? acceptedIn(entry).requestId : "";
  return entry.type === "MessageReceived" && !entry.forked_from ? entry.message_id : "";
}
