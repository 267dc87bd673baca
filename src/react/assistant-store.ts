import type { Json, JsonObject } from "../protocol/json.ts";
import type { PartView, RunView, TurnView } from "../view/run-view.ts";
import type { AgentConversation } from "./use-agent.ts";

/**
 * A conversation in the form that `useExternalStoreRuntime` of `@assistant-ui/react` takes. An open question is a call of a tool
 * named `question`; its result is the answer.
 */
export interface AssistantStore {
  readonly messages: readonly AssistantMessage[];
  readonly isRunning: boolean;
  convertMessage(message: AssistantMessage): AssistantMessage;
  onNew(message: WrittenMessage): Promise<void>;
  onEdit(message: WrittenMessage): Promise<void>;
  onReload(): Promise<void>;
  onCancel(): Promise<void>;
  onAddToolResult(result: { readonly toolCallId: string; readonly result: unknown }): Promise<void>;
}

/** A message as `@assistant-ui/react` reads it. */
export interface AssistantMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: readonly AssistantPart[];
  readonly status?:
    | { readonly type: "running" }
    | { readonly type: "requires-action"; readonly reason: "tool-calls" }
    | { readonly type: "complete"; readonly reason: "stop" }
    | { readonly type: "incomplete"; readonly reason: "error" | "cancelled"; readonly error?: string };
}

/** A part of such a message. */
export type AssistantPart =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly args: JsonObject;
      readonly argsText: string;
      readonly result?: Json;
      readonly isError?: boolean;
    };

/** A message that a person has written there. */
export interface WrittenMessage {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  /** The message that it takes the place of. */
  readonly sourceId?: string | null;
}

/** The name of the tool that stands for a question. */
const QUESTION = "question";

/** Makes the store of a conversation as `useAgent` gives it, for `useExternalStoreRuntime` of `@assistant-ui/react`. */
export function toAssistantStore(conversation: AgentConversation): AssistantStore {
  const { view, sent, status, pending, send, edit, retry, cancel, answer } = conversation;
  const written = sent.map(({ requestId, input }) => toUserMessage(requestId, input));
  return {
    messages: [...view.turns.flatMap((turn) => toMessages(view, turn)), ...written],
    isRunning: pending || status === "streaming",
    convertMessage: (message) => message,
    onNew: (message) => send(toText(message)),
    onEdit: (message) => edit(message.sourceId ?? "", toText(message)),
    onReload: retry,
    onCancel: cancel,
    onAddToolResult: ({ toolCallId, result }) => answer(result as JsonObject, Number(toolCallId)),
  };
}

/** What was asked in a turn, and all that came of it as one message. */
function toMessages(view: RunView, turn: TurnView): readonly AssistantMessage[] {
  const own = view.parts.filter(({ requestId }) => requestId === turn.requestId);
  const asked = own.flatMap((part) =>
    part.kind === "input" ? [toUserMessage(turn.requestId, part.input)] : [],
  );
  const content = own.flatMap((part) => toPart(view, part));
  const id = `${turn.requestId} answer`;
  return [...asked, { id, role: "assistant", content, status: toStatus(view, turn) }];
}

function toUserMessage(id: string, input: Json): AssistantMessage {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return { id, role: "user", content: [{ type: "text", text }] };
}

function toPart(view: RunView, part: PartView): readonly AssistantPart[] {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return [{ type: part.kind, text: part.text }];
    case "call": {
      const call = view.calls.get(part.call);
      if (call === undefined) return [];
      const { key, name, args = null, result, error } = call;
      return [
        {
          ...toToolCall(key, name, args),
          ...(error === undefined ? result !== undefined && { result } : { result: error, isError: true }),
        },
      ];
    }
    case "wait": {
      const wait = view.waits.find(({ waitId }) => waitId === part.waitId);
      if (wait === undefined) return [];
      const { waitId, questions, schema, question, state } = wait;
      const args = { questions, ...(schema && { schema }), ...(question !== undefined && { question }) };
      return [{ ...toToolCall(String(waitId), QUESTION, args), ...(state !== "open" && { result: state }) }];
    }
    case "input":
    case "answer":
    case "expiry":
    case "file":
    case "received":
    case "end":
      return [];
    default: {
      const never: never = part;
      return never;
    }
  }
}

function toToolCall(id: string, toolName: string, args: Json): Extract<AssistantPart, { type: "tool-call" }> {
  const isGiven = typeof args === "object" && args !== null && !Array.isArray(args);
  const shown = isGiven ? (args as JsonObject) : { input: args };
  return { type: "tool-call", toolCallId: id, toolName, args: shown, argsText: JSON.stringify(shown) };
}

function toStatus(
  { waits }: RunView,
  { requestId, outcome, error }: TurnView,
): NonNullable<AssistantMessage["status"]> {
  if (outcome === "success") return { type: "complete", reason: "stop" };
  if (outcome === "canceled") return { type: "incomplete", reason: "cancelled" };
  if (outcome === "error")
    return { type: "incomplete", reason: "error", ...(error !== undefined && { error: error.message }) };
  const isAsked = waits.some((wait) => wait.state === "open" && wait.requestId === requestId);
  return isAsked ? { type: "requires-action", reason: "tool-calls" } : { type: "running" };
}

function toText({ content }: WrittenMessage): string {
  return content.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}
