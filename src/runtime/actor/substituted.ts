import type { CallPlace } from "../../ports/substitutes.ts";
import type { Callee } from "../../protocol/actors.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { NewCall } from "../calls/attempts.ts";
import { fail, finish } from "../calls/call-end.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** Where the code of an actor calls something. */
export function toPlace({ turn, agent }: ActorContext, callId: CallId): CallPlace {
  return { runId: turn.runId, requestId: turn.requestId, callId, agent: agent.name };
}

/**
 * Ends a call as the substitutes of the runtime say, in place of its work. Returns false if the work is to be done, as that of another
 * agent is: its code belongs to the turn.
 */
export function endSubstituted(
  caller: ActorContext,
  open: OpenCall,
  { callId, name, args }: NewCall,
  callee: Callee,
): boolean {
  if (callee.kind === "agent") return false;
  const { substitutes } = caller.turn.context;
  const outcome = substitutes?.call({ ...toPlace(caller, callId), name, args, callee });
  if (outcome === undefined) return false;
  switch (outcome.type) {
    case "result":
      finish(caller, open, { value: outcome.value, summary: outcome.text }, []);
      return true;
    case "error":
      fail(caller, open, outcome.code, outcome.message);
      return true;
    case "open":
      return true;
    default:
      return outcome satisfies never;
  }
}
