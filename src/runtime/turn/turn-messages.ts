import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { InboxMessage } from "../scheduler/inbox.ts";
import type { ParkReason } from "../scheduler/parked-calls.ts";
import type { ActiveTurn } from "./active-turn.ts";

/** Gives a call the oldest unread message with one of some names, or registers that it waits; a turn with too many of them ends. */
export function receiveNext(
  turn: ActiveTurn,
  call: OpenCall,
  reason: ParkReason & { readonly kind: "message" },
): void {
  const { limits } = turn.context;
  const [message] = turn.inbox.take(reason.names, 1);
  if (message) {
    deliver(turn, call, message);
    return;
  }
  turn.quiescence.park(call, reason);
  if (turn.counts.messages <= limits.openSleeps) return;
  turn.fail("overloaded", `agent ${turn.agent.name} waits for more than ${limits.openSleeps} messages`);
}

/** Gives the oldest unread message with a name to the oldest call that waits for one, if there are both. */
export function deliverMessage(turn: ActiveTurn, name: string): void {
  const call = turn.parkedCalls.receiver(name);
  const [message] = call === undefined ? [] : turn.inbox.take([name], 1);
  if (call && message) deliver(turn, call, message);
}

function deliver(turn: ActiveTurn, call: OpenCall, { id, name, body }: InboxMessage): void {
  turn.listener.received({ call_id: call.callId, ids: [id], from: name });
  turn.calls.conclude(call, { ok: true, value: [body, name] });
  // Stops the timer of its time limit.
  call.abort();
}

/** Ends the wait of a call for a message without one. */
export function expireReceive({ calls, listener }: ActiveTurn, call: OpenCall): void {
  listener.received({ call_id: call.callId, ids: [] });
  calls.conclude(call, { ok: true, value: [] });
}

/** Ends a select with what came first, if that is no message, so that it reads none. */
export function endSelect({ calls, listener }: ActiveTurn, call: OpenCall, first: string): void {
  listener.received({ call_id: call.callId, ids: [], first });
  calls.conclude(call, { ok: true, value: { first } });
  // Stops the timer of its time limit.
  call.abort();
}

/** Takes the unread messages with a name, for a call that asks for them. Returns their bodies. */
export function takeUnread({ inbox, listener }: ActiveTurn, callId: CallId, name: string): readonly Json[] {
  const messages = inbox.take([name], Infinity);
  listener.received({ call_id: callId, ids: messages.map(({ id }) => id), name });
  return messages.map(({ body }) => body);
}
