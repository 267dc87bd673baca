import type { ActorRef, CallMode, Hops, Callee, Caller } from "../../protocol/actors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import { TIMER_AGENT } from "../agent/definition/timer-agent.ts";
import { digest } from "../../shared/digest.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { traceAt } from "./turn-trace.ts";

/** The ToolCall of an ask or a tell. It holds everything that the request is made from. */
export type ActorCallEvent = Event & {
  readonly type: "ToolCall";
  readonly mode: CallMode;
  readonly callee: Callee & { readonly request_id: RequestId };
};

/** Whether a ToolCall asks or tells an actor. */
export function isActorCall(event: Event & { readonly type: "ToolCall" }): event is ActorCallEvent {
  return event.mode !== undefined && event.callee?.request_id !== undefined;
}

/** The turn that sends a request, and the actor that it belongs to. */
export interface SendingTurn {
  readonly self: ActorRef;
  readonly accepted: AcceptedRequest;
}

/** Makes the request of an ask or a tell from its ToolCall, equal each time it is sent. */
export function toActorRequest(event: ActorCallEvent, turn: SendingTurn): AcceptedRequest {
  const { mode, callee, args, ts, depth, tool_call_id: callId, supervise } = event;
  const { self, accepted } = turn;
  const { request, requestId, callers = [] } = accepted;
  const isAsk = mode === "ask";
  const own: Caller = { run_id: self.run_id, request_id: requestId, waits: isAsk };
  const hops = isAsk ? request.hops : isOwnStep(event, turn) ? undefined : nextHops(request.hops, ts);
  const sent: OperationRequest = {
    type: "OperationRequest",
    operation: operationOf(event),
    input: args,
    request_id: callee.request_id,
    ...(callee.key === undefined ? { run_id: callee.run_id as RunId } : { key: callee.key }),
    // Nothing waits for a tell, so it is not nested in the turn that sends it.
    caller: isAsk ? [...(request.caller ?? []), own] : [own],
    ...(isAsk && { depth: (request.depth ?? 0) + depth + 1 }),
    ...(hops && { hops }),
    trace: { ...traceAt(self.run_id, accepted, callId), ...(!isAsk && { linked: true }) },
  };
  return {
    requestId: callee.request_id,
    agent: callee.name,
    request: sent,
    sender: self,
    ...(accepted.owner !== undefined && { owner: accepted.owner }),
    ...(accepted.by && { by: accepted.by }),
    ...(supervise && { supervise }),
    ...(isAsk && { callId, callers: isNamed(self) ? callers : [...callers, self.agent] }),
    acceptedAt: Date.parse(ts),
  };
}

/** Whether an actor has a key: then others of its agent are not the same, and its agent is not among the callers of a request. */
function isNamed({ key }: ActorRef): boolean {
  return key !== undefined;
}

/**
 * Whether an actor tells itself something, or its own timer does: the next step of its own work, which may have no end.
 * It begins a new chain.
 */
export function isOwnStep({ mode, callee }: ActorCallEvent, { self, accepted }: SendingTurn): boolean {
  if (mode !== "tell") return false;
  const owner = self.agent === TIMER_AGENT ? accepted.sender : self;
  if (owner === undefined || owner.agent !== callee.name) return false;
  return callee.key === undefined ? callee.run_id === owner.run_id : callee.key === owner.key;
}

/** The name of an ask or a tell in its events: the agent and the operation. */
export function actorCallName(agent: string, operation: string): string {
  return `${agent}.${operation}`;
}

function operationOf({ function_name: name, callee }: ActorCallEvent): string {
  return name.slice(callee.name.length + 1);
}

/** The id of the request that a call sends, equal on every replay. */
export function toRequestId(runId: RunId, callId: CallId): RequestId {
  const plain = `ask_${runId}_${callId.replaceAll(".", "-").replaceAll(":", "_")}`;
  return plain.length <= ID_LENGTH ? plain : `ask_${runId.slice(0, 64)}_${digest(callId)}`;
}

const ID_LENGTH = 128;

/** The callers of a request that wait for its end. */
export function waitingCallers(callers: readonly Caller[] | undefined): readonly Caller[] {
  if (callers === undefined) return NONE;
  return callers.slice(callers.findLastIndex(({ waits }) => waits === false) + 1);
}

/** A chain of more tells than this is ended, because it would never end by itself. */
export const HOPS_LIMIT = 1_000;

/** Hops are counted again after this time. */
const HOPS_MS = 3_600_000;

/** The hops of a tell that a turn with these hops sends. */
export function nextHops(before: Hops | undefined, ts: string): Hops {
  if (before === undefined || Date.parse(ts) - Date.parse(before.since) > HOPS_MS) return { n: 1, since: ts };
  return { n: before.n + 1, since: before.since };
}

const NONE: readonly never[] = [];
