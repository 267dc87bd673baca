import { AgentError } from "../../errors.ts";
import type { TurnError, FinishReason } from "../../protocol/events/outcome-codes.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";

/** How a turn ended, as its event or its status says it. */
export interface TurnOutcome {
  readonly request_id: RequestId;
  readonly agent?: string;
  readonly finish_reason?: FinishReason;
  readonly result?: string | null;
  readonly output?: Json;
  readonly error?: TurnError;
}

/** The output of a turn that succeeded; throws the error of another one. */
export function outputOf(end: TurnOutcome): Json {
  const { request_id, agent, finish_reason: reason = "success", error, output = null } = end;
  if (reason === "success") return output;
  const { code, message } = reason === "canceled" ? CANCELED : (error ?? FAILED);
  throw new AgentError(code, message, { facts: { request_id, agent } });
}

const CANCELED = { code: "canceled", message: "the turn was canceled" } as const;
const FAILED = { code: "agent_error", message: "the turn failed" } as const;

/** The output of the operation `chat`: the value that the agent returned, or its text. */
export function chatOutputOf(end: TurnOutcome): { readonly output: Json } {
  const output = outputOf(end);
  return { output: output === null || typeof output === "string" ? (end.result ?? "") : output };
}

/** The answer to a chat: a text as it is, else the output. */
export function replyOf(end: TurnOutcome): string | { readonly output: Json } {
  const reply = chatOutputOf(end);
  return typeof reply.output === "string" ? reply.output : reply;
}
