import { AgentError } from "../../../errors.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { Schema } from "../../agent/agent.ts";
import type { Actor } from "../actor.ts";
import { openCall } from "../call.ts";
import { LAST_MS } from "../wait.ts";
import { expireReceive, receiveNext } from "../../turn/turn-messages.ts";

/** The schema of a message that an agent reads; throws if the agent does not declare the message. */
export function messageSchema({ agent }: Actor, name: string): Schema<unknown> {
  const { messages = {} } = agent;
  const schema = Object.hasOwn(messages, name) ? messages[name] : undefined;
  if (schema !== undefined) return schema;
  const declared = Object.keys(messages);
  throw new AgentError("not_found", `agent ${agent.name} declares no message ${name}`, {
    hint: declared.length === 0 ? "declare it in messages" : `its messages: ${declared.join(", ")}`,
  });
}

/** Throws for a called agent: the messages of a run are for the agent of the run. */
export function checkRequested({ agent, depth }: Actor): void {
  if (depth === 0) return;
  throw new AgentError(
    "conflict",
    `agent ${agent.name} was called by another agent, so it has no messages; only the requested agent can use turn.receive`,
  );
}

/** Throws unless the time limit of a wait for a message is a number of milliseconds. */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)) return;
  throw new TypeError("the timeoutMs of turn.receive must be milliseconds, 0 or more");
}

/**
 * Gives an actor the oldest unread message, or waits for one. A restart does not reset the time limit; as with a sleep,
 * a clock that was set back does not extend it.
 */
export function receive(
  caller: Actor,
  { callId, logged }: { readonly callId: CallId; readonly logged: boolean },
  name: string,
  timeoutMs: number = Infinity,
): void {
  const { turn } = caller;
  const { recorder, journal } = turn;
  const { environment } = turn.context;
  const now = environment.now();
  const loggedUntil = journal.wakeTimes.get(callId) ?? Infinity;
  const until = Math.min(loggedUntil, now + timeoutMs, timeoutMs < Infinity ? LAST_MS : Infinity);
  let stop = (): void => {};
  const open = openCall(caller, { callId, name: "receive", args: null, logged }, "receive", () => stop());
  if (!logged || until < loggedUntil)
    recorder.record({ type: "Receive", call_id: callId, name, ...(until < Infinity && { until }) });
  receiveNext(turn, open, { kind: "message", name, ...(until < Infinity && { until }) });
  if (until === Infinity || !open.open || turn.ended) return;
  stop = environment.timer(Math.max(until - now, 0), () => {
    if (turn.calls.accepts(open)) expireReceive(turn, open);
  });
}
