import { isInstance } from "../../errors.ts";
import { isInterruption, isPassedOn } from "../actor/call-failure.ts";
import { Actor } from "../actor/actor.ts";
import { CHAT } from "../agent/agent.ts";
import { noChat, toAsked, toRemoteInvocation } from "../agent/resolve-operation.ts";
import { isNotAccepted } from "../agent/accepted-operations.ts";
import { errorMessage } from "../agent/error-message.ts";
import { RemoteFailure } from "../agent/remote-port.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";

/**
 * Runs the handler for a turn's request from its start; logged steps are replayed. Returns a function that stops the
 * handler.
 */
export function runHandler(turn: ActiveTurn): () => void {
  const { agent, accepted, root } = turn;
  const asked = askedOf(turn);
  if (asked === undefined) {
    turn.fail("unsupported_input", noChat(agent));
    return () => {};
  }
  const actor = new Actor(turn, agent, 0, root);
  return actor.start(asked, {
    done({ text, output, truncated }) {
      const changed = actor.memory.changed();
      turn.end({
        finishReason: "success",
        result: text,
        ...(truncated && { truncated }),
        output,
        ...(changed !== undefined && { memory: new Map([[agent.name, changed]]) }),
      });
    },
    failed(thrown, unfit) {
      // A chat that does not fit the operation fails here; every other input was checked before.
      const isChat = accepted.request.type === "ChatRequest" && asked.name !== CHAT;
      if (unfit && isChat) turn.fail("unsupported_input", errorMessage(thrown));
      else if (isNotAccepted(thrown)) turn.fail("not_accepted", errorMessage(thrown));
      else if (isInstance(thrown, RemoteFailure)) turn.fail(thrown.turnCode, errorMessage(thrown));
      else if (isPassedOn(thrown)) turn.fail("agent_error", errorMessage(thrown));
      else turn.failWith(thrown, isInterruption(thrown) ? "interrupted" : "agent_error");
    },
  });
}

function askedOf({ agent, accepted }: ActiveTurn): ReturnType<typeof toAsked> {
  if (agent.remote) return toRemoteInvocation(agent, accepted.request);
  try {
    return toAsked(agent, accepted.request);
  } catch {
    // The operation existed when the request was accepted; the code has changed since.
    return undefined;
  }
}
