import type { CallMode, Callee } from "../../protocol/actors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { CALLERS_LIMIT } from "../../protocol/actors.ts";
import type { ActorAddress } from "../agent/actor-address.ts";
import { toStrategy } from "../agent/definition/supervision.ts";
import { makeCall } from "../calls/attempts.ts";
import type { NewCall, TimedCall } from "../calls/attempts.ts";
import { fail } from "../calls/call-end.ts";
import { HOPS_LIMIT, toActorRequest, toRequestId } from "../replay/actor-request.ts";
import type { ActorCallEvent } from "../replay/actor-request.ts";
import type { Actor } from "./actor.ts";
import { openCall, recordCall } from "./call.ts";
import { endSubstituted } from "./substituted.ts";

/** A new ask or tell, made for the first time or again after a crash. */
export interface NewAsk extends NewCall, TimedCall {
  readonly callee: Callee;
  readonly mode: CallMode;
  readonly retryOf: CallId | undefined;
  readonly address: ActorAddress;
}

/**
 * The actor that an ask or a tell is for, as its ToolCall has it. The id of its request is not included, because it is
 * computed from the call id.
 */
export function toActorCallee({ agent, key, runId }: ActorAddress): Callee {
  const place = key === undefined ? (runId === undefined ? {} : { run_id: runId }) : { key };
  return { kind: "actor", name: agent.name, ...place };
}

/**
 * Asks or tells another actor. The ToolCall is the entry of the request in the outbox: once it is committed, the
 * request is sent until it is accepted or refused. A refusal of this turn is committed with the ToolCall, so that
 * recovery never finds a ToolCall whose request must not be sent.
 */
export function requestActor(caller: Actor, ask: NewAsk): void {
  const { turn } = caller;
  const { callId, mode, logged, timeoutMs, retryOf } = ask;
  const open = openCall(caller, ask, mode, () => turn.asks.aborted(callId));
  if (logged) turn.asks.reached(open);
  if (!open.open) return;
  void makeCall(caller, {
    open,
    logged,
    timeoutMs,
    policy: "continue",
    record(attempt, expiresAt) {
      const callee = { ...ask.callee, request_id: toRequestId(turn.runId, callId) };
      const { supervise } = caller.agent;
      const { text } = recordCall(caller, ask, {
        callee,
        mode,
        attempt,
        expiresAt,
        retryOf,
        ...(supervise && { supervise: toStrategy(supervise) }),
      });
      const sent = JSON.parse(text) as Event as ActorCallEvent;
      const refusal = refusalOf(caller, ask, sent);
      if (refusal !== undefined) fail(caller, open, refusal.code, refusal.message);
      else if (!endSubstituted(caller, open, ask, callee)) turn.asks.begin(sent, open);
    },
    // The outbox sends the request while the call is open, so an attempt itself does nothing.
    perform() {},
    fail: (code, message) => fail(caller, open, code, message),
  });
}

interface Refusal {
  readonly code: ToolErrorCode;
  readonly message: string;
}

/** Why a request is not sent at all. */
function refusalOf(caller: Actor, { mode, name }: NewAsk, sent: ActorCallEvent): Refusal | undefined {
  const { turn } = caller;
  const { limits } = turn.context;
  if (turn.asks.size >= limits.openAsks)
    return { code: "overloaded", message: `the turn has ${limits.openAsks} open asks and tells` };
  const { accepted, self } = turn;
  const { request } = toActorRequest(sent, { self, accepted });
  const { depth = 0, hops = { n: 0 }, caller: callers = [] } = request;
  if (hops.n > HOPS_LIMIT)
    return { code: "too_deep", message: `${name} is at the end of a chain of more than ${HOPS_LIMIT} tells` };
  if (mode === "tell") return undefined;
  if (depth > limits.depth)
    return { code: "too_deep", message: `agent calls are nested more than ${limits.depth} deep` };
  if (callers.length > CALLERS_LIMIT)
    return { code: "too_deep", message: `${name} is asked by a chain of more than ${CALLERS_LIMIT} callers` };
  return undefined;
}

/** The answer to a tell, as its ToolResult has it. */
export function toToldRequest(result: Json): { readonly runId: string; readonly requestId: string } {
  const { run_id: runId, request_id: requestId } = result as {
    readonly run_id: string;
    readonly request_id: string;
  };
  return { runId, requestId };
}
