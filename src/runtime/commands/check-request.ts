import { AgentError } from "../../errors.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { Agent } from "../agent/agent.ts";
import { toAsked } from "../agent/resolve-operation.ts";
import { checkWith } from "../agent/schema.ts";
import { byteLength, EVENT_LIMIT_BYTES } from "../journal/json-limits.ts";
import type { RunContext } from "../run-context.ts";

/** The size of an event without its input. */
const ADDRESS_BYTES = 2_048;

/** Checks a request before it is accepted; throws an error of the client. */
export async function checkTurnRequest(
  { environment }: RunContext,
  agent: Agent,
  request: TurnRequest,
): Promise<void> {
  await agent.remote?.ready();
  const asked = toAsked(agent, request);
  const text = request.type === "ChatRequest" ? request.input : JSON.stringify(request.input);
  if (
    text.length * 3 > EVENT_LIMIT_BYTES - ADDRESS_BYTES &&
    byteLength(text) > EVENT_LIMIT_BYTES - ADDRESS_BYTES
  ) {
    throw new AgentError("too_large", `the input is larger than ${EVENT_LIMIT_BYTES - ADDRESS_BYTES} bytes`);
  }
  if (asked && request.type === "OperationRequest") {
    const what = `the input of ${agent.name}.${asked.name}`;
    await checkWith(environment, asked.operation.input, asked.input, what);
  }
}
