import { AgentError } from "../../errors.ts";
import type { FinishReason, TurnError } from "../../protocol/events/events.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";

/** How a turn ended, as its event or its status says it. */
export interface TurnEnd {
  readonly request_id: RequestId;
  readonly agent?: string;
  readonly finish_reason?: FinishReason;
  readonly result?: string | null;
  readonly output?: Json;
  readonly error?: TurnError;
}

/** The output of a turn that succeeded; throws the error of another one. */
export function outputOf(end: TurnEnd): Json {
  const { request_id, agent, finish_reason: reason = "success", error, output = null } = end;
  if (reason === "success") return output;
  const facts = { request_id, ...(agent !== undefined && { agent }) };
  if (reason === "canceled") throw new AgentError("canceled", "the turn was canceled", { facts });
  const { code, message } = error ?? { code: "agent_error" as const, message: "the turn failed" };
  throw new AgentError(code, message, { facts });
}

/** The answer to a chat: the value that the agent returned, or its text. */
export function replyOf(end: TurnEnd): string | { readonly output: Json } {
  const output = outputOf(end);
  return output === null || typeof output === "string" ? (end.result ?? "") : { output };
}
