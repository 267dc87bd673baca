import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Event } from "../../protocol/events/events.ts";
import { toQuestion } from "../../view/to-answer.ts";
import type { Json } from "../../protocol/json.ts";

/** An event in the words of the dialect. */
export interface DialectEvent {
  readonly type: string;
  readonly agent: string;
  readonly depth: number;
  readonly payload: Json;
  /** Beside the payload, where their clients also read it. */
  readonly result?: Json;
}

/** An encoded event in the words of the dialect; `undefined` if the dialect has none for it. */
export function toDialect(text: string, root: string): DialectEvent | undefined {
  const event = JSON.parse(text) as Event;
  const shown = toShown(event);
  if (shown === undefined) return undefined;
  // Their pages offer a form only for the questions of the agent that they talk to.
  const isQuestion = event.type === "WaitForInput";
  return { agent: isQuestion ? root : event.agent, depth: isQuestion ? 0 : event.depth, ...shown };
}

type Shown = Pick<DialectEvent, "type" | "payload" | "result">;

function toShown(event: Event): Shown | undefined {
  switch (event.type) {
    case "RequestStarted":
      return { type: "prompt_started", payload: { content: toText(event.input) } };
    case "CompletionCall":
      return { type: "completion_start", payload: {} };
    case "CompletionResult":
      return { type: "completion_end", payload: toCompletion(event) };
    case "TextOutput":
      return { type: "chat_output", payload: { content: event.content, role: "assistant" } };
    case "ToolCall": {
      const { function_name: name, args, tool_call_id } = event;
      return { type: "tool_call", payload: { name, arguments: args, tool_call_id } };
    }
    case "ToolTextOutput":
      return toResult(event.agent, event.content, true, event.tool_call_id);
    case "ToolResult":
      return toResult(event.function_name, event.result ?? event.text_result, false, event.tool_call_id);
    case "ToolError": {
      const { function_name: name, content: error, tool_call_id } = event;
      return { type: "tool_error", payload: { name, error, tool_call_id } };
    }
    case "WaitForInput":
      // Who may not answer reads the question, and gets no form.
      if (event.question !== undefined)
        return {
          type: "chat_output",
          payload: {
            content: toQuestion({ ...event, questions: {} }),
            role: "assistant",
          },
        };
      return { type: "wait_for_input", payload: event.request_keys };
    case "RequestCompleted":
      return toEnd(event);
    default:
      // Answers, cancels, reasoning and files have no event in the dialect.
      return undefined;
  }
}

function toResult(name: string, result: Json, isLog: boolean, tool_call_id: string): Shown {
  return { type: "tool_result", payload: { name, result, is_log: isLog, tool_call_id }, result };
}

function toCompletion({
  model,
  usage,
  elapsed_ms: elapsedMs,
  error,
}: Event & { readonly type: "CompletionResult" }): Json {
  const { input_tokens = 0, output_tokens = 0, cost = 0 }: Usage = usage;
  const metadata = { model, input_tokens, output_tokens, cost, elapsed_time: elapsedMs / 1_000 };
  return { usage: { ...usage }, metadata: { ...metadata, ...(error !== undefined && { error }) } };
}

/** The end of a turn. One that failed ends with its message, because the dialect has no other word for it. */
function toEnd({
  finish_reason: reason,
  result,
  output,
  error,
}: Event & { readonly type: "RequestCompleted" }): Shown {
  if (reason === "canceled") return { type: "turn_cancelled", payload: {} };
  const content = error === undefined ? (result ?? toText(output)) : error.message;
  return {
    type: "turn_end",
    payload: { messages: [{ role: "assistant", content }], ...(error && { error: { ...error } }) },
  };
}

function toText(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
