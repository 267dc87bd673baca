import type { CalleeKind } from "../../protocol/actors.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Event } from "../../protocol/events/events.ts";
import { toQuestion } from "../../view/to-answer.ts";
import type { Json } from "../../protocol/json.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Address } from "../../runtime/feeds.ts";

/** An event in the words of the dialect. */
export interface DialectEvent {
  readonly type: string;
  readonly agent: string;
  readonly depth: number;
  readonly payload: Json;
  /** Beside the payload, where their clients also read it. */
  readonly result?: Json;
}

/** An event of the dialect, and the newest event of the log that is in it. */
export interface ShownEvent {
  readonly event: Event;
  readonly shown: DialectEvent;
}

/** What an agent has thought, until it goes on. */
interface OpenThought {
  readonly event: Event;
  readonly text: string;
}

/**
 * Writes successive events of requests to an agent in the words of the dialect. Their page shows one thought beside a text, so that
 * the parts of one are joined.
 */
export class DialectWriter {
  readonly #root: string;
  /** The calls of agents, by request and call. */
  readonly #agentCalls: Set<string>;
  /** By the completion. */
  readonly #thoughts = new Map<string, OpenThought>();

  /** `agentCalls` are the calls of agents before the first event, as `readAgentCalls` finds them. */
  constructor(root: string, agentCalls: ReadonlySet<string> = new Set()) {
    this.#root = root;
    this.#agentCalls = new Set(agentCalls);
  }

  /** Whether it has a part of a thought that it has not shown. */
  get isThinking(): boolean {
    return this.#thoughts.size > 0;
  }

  /** Takes the next event; most give one event of the dialect or none. */
  take(text: string): readonly ShownEvent[] {
    const event = JSON.parse(text) as Event;
    if (event.type === "ReasoningOutput") {
      const said = this.#thoughts.get(event.call_id)?.text ?? "";
      this.#thoughts.set(event.call_id, { event, text: said + event.content });
      return [];
    }
    if (isAgentCall(event)) this.#agentCalls.add(toCallName(event));
    const shown = toShown(event, this.#agentCalls);
    return [...this.end(), ...(shown === undefined ? [] : [{ event, shown: this.#place(event, shown) }])];
  }

  /** The thoughts that nothing has ended. */
  end(): readonly ShownEvent[] {
    if (!this.isThinking) return [];
    const thoughts = Array.from(this.#thoughts.values(), ({ event, text }): ShownEvent => {
      const shown = { type: "reasoning_content", payload: { reasoning_content: text } };
      return { event, shown: this.#place(event, shown) };
    });
    this.#thoughts.clear();
    return thoughts;
  }

  #place(event: Event, shown: Shown): DialectEvent {
    // Their pages offer a form only for the questions of the agent that they talk to.
    const isAboutQuestion = event.type === "WaitForInput" || event.type === "ResumeWithInput";
    return isAboutQuestion
      ? { agent: this.#root, depth: 0, ...shown }
      : { agent: event.agent, depth: event.depth, ...shown };
  }
}

/** The calls of agents up to an event, which their results do not tell apart from those of tools. */
export async function readAgentCalls(
  runtime: Runtime,
  address: Address,
  until: number = Infinity,
): Promise<ReadonlySet<string>> {
  const calls = new Set<string>();
  for (let after = 0, more = true; more && after < until;) {
    const page = await runtime.read(address, { after, filter: { types: ["ToolCall"] } });
    for (const text of page.events) {
      const event = JSON.parse(text) as Event;
      if (event.id <= until && isAgentCall(event)) calls.add(toCallName(event));
    }
    after = page.cursor;
    more = page.more;
  }
  return calls;
}

type AgentCall = Event & { readonly type: "ToolCall" };

function isAgentCall(event: Event): event is AgentCall {
  return event.type === "ToolCall" && AGENTS.has(event.callee?.kind ?? "tool");
}

const AGENTS: ReadonlySet<CalleeKind> = new Set(["agent", "remote", "actor"]);

function toCallName({
  request_id: requestId,
  tool_call_id: callId,
}: Pick<AgentCall, "request_id" | "tool_call_id">): string {
  return `${requestId}/${callId}`;
}

type Shown = Pick<DialectEvent, "type" | "payload" | "result">;

function toShown(event: Event, agentCalls: ReadonlySet<string>): Shown | undefined {
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
      const type = agentCalls.has(toCallName(event)) ? "subagent_call" : "tool_call";
      return { type, payload: { name, arguments: args, tool_call_id } };
    }
    case "ToolTextOutput":
      return toResult(event.agent, event.content, true, event.tool_call_id);
    case "ToolResult": {
      const shown = toResult(
        event.function_name,
        event.result ?? event.text_result,
        false,
        event.tool_call_id,
      );
      return agentCalls.has(toCallName(event)) ? { ...shown, type: "subagent_result" } : shown;
    }
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
    case "ResumeWithInput":
      return { type: "resume_with_input", payload: event.request_keys };
    case "RequestCompleted":
      return toEnd(event);
    default:
      // Cancels and files have no event in the dialect.
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
