import type { Agent } from "../../agent/agent.ts";
import { isMessageName } from "../../agent/resolve-operation.ts";
import type { AcceptedRequest } from "../../journal/records.ts";
import type { AgentMessage } from "../messages.ts";

/** A tell as a message, if it names one; `undefined` for a request that starts a turn. */
export function toToldMessage(
  agent: Agent | undefined,
  { requestId: messageId, request, callId, sender }: AcceptedRequest,
): Omit<AgentMessage, "kind"> | undefined {
  // An ask waits for the output of a turn.
  if (agent === undefined || callId !== undefined || request.type !== "OperationRequest") return undefined;
  const { operation: name, input: body, key } = request;
  if (!isMessageName(agent, name)) return undefined;
  return {
    messageId,
    agent: agent.name,
    name,
    body,
    ...(sender && { sender }),
    ...(key !== undefined && { key }),
  };
}
