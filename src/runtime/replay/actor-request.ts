import type { ActorRef, CallMode, Hops } from "../../protocol/actors.ts";
import type { Callee, Event } from "../../protocol/events/events.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Caller, OperationRequest } from "../../protocol/requests/requests.ts";
import type { AcceptedRequest } from "../journal/records.ts";

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
  const { mode, callee, args, ts, depth, tool_call_id: callId } = event;
  const { self, accepted } = turn;
  const { request, requestId, callers = [] } = accepted;
  const isAsk = mode === "ask";
  const own: Caller = { run_id: self.run_id, request_id: requestId, waits: isAsk };
  const hops = isAsk ? request.hops : nextHops(request.hops, ts);
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
  };
  return {
    requestId: callee.request_id,
    agent: callee.name,
    request: sent,
    sender: self,
    ...(isAsk && { callId, callers: [...callers, self.agent] }),
    acceptedAt: Date.parse(ts),
  };
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
  return plain.length <= ID_LENGTH ? plain : `ask_${runId.slice(0, 64)}_${hash(callId)}`;
}

const ID_LENGTH = 128;

/** The callers of a request that wait for its end. */
export function waitingCallers(callers: readonly Caller[] = []): readonly Caller[] {
  return callers.slice(callers.findLastIndex(({ waits }) => waits === false) + 1);
}

/** A chain of more tells than this is ended, because it would never end by itself. */
export const HOPS_LIMIT = 1_000;

/** Hops are counted anew after this time. */
const HOPS_MS = 3_600_000;

function nextHops(before: Hops | undefined, ts: string): Hops {
  if (before === undefined || Date.parse(ts) - Date.parse(before.since) > HOPS_MS) return { n: 1, since: ts };
  return { n: before.n + 1, since: before.since };
}

/** A hash of 106 bits of the id of a deeply nested call. Such ids are unique in their run, and few. */
function hash(text: string): string {
  return [0x9e3779b9, 0x85ebca6b].map((seed) => hash53(text, seed).toString(36)).join("");
}

function hash53(text: string, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}
