import { AgentError } from "../../errors.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

/** What a model is asked, as `turn.complete` takes it for the models of this package. */
export interface Prompt {
  /** What the model is, and how it is to behave. */
  readonly instructions: string;
  /** The conversation, oldest first; the model says what comes next. */
  readonly messages: readonly Message[];
  /** What the model may call. */
  readonly tools: readonly ToolDescription[];
  /** JSON Schema of the answer, where the answer has to be JSON. */
  readonly output?: JsonObject;
}

/** One message of a conversation. */
export type Message =
  | {
      readonly role: "user";
      readonly content: string;
      /** Pictures that belong to it: PNG, JPEG, GIF or WebP. A model reads them when it is asked. */
      readonly images?: readonly MessageImage[];
    }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls?: readonly ModelToolCall[];
      /** What the model wants to see again as it made it, such as signed thoughts. */
      readonly original?: Json;
    }
  | {
      readonly role: "tool";
      /** The id of the call that this is the result of. */
      readonly callId: string;
      readonly name: string;
      readonly content: string;
      readonly isError?: boolean;
    };

/** Where a picture is kept. */
export interface MessageImage {
  readonly artifactId: ArtifactId;
  readonly sizeBytes: number;
}

/** A tool as a model sees it. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its input. */
  readonly input: JsonObject;
}

/** A call that a model wants to have made. */
export interface ModelToolCall {
  /** The model's own name for the call. */
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** Why it cannot be made, where the model did not say it properly. */
  readonly error?: string;
}

/** What a model answered: the result of `turn.complete` with the models of this package. */
export interface Completion {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter` or `other`. */
  readonly finishReason: string;
  readonly original?: Json;
}

/** Reads what a model was asked; a plain text is a conversation of one message. */
export function parsePrompt(input: Json): Prompt {
  if (typeof input === "string") {
    return { instructions: "", messages: [{ role: "user", content: input }], tools: [] };
  }
  const { instructions = "", messages, tools = [], output } = (input ?? {}) as Partial<Prompt>;
  if (!Array.isArray(messages)) {
    throw new AgentError("invalid_request", "a model is asked with a text, or with an object with messages");
  }
  return { instructions, messages: messages as readonly Message[], tools, ...(output && { output }) };
}

/** Reads what a model answered. */
export function parseCompletion(result: Json): Completion {
  const { text, toolCalls = [], finishReason = "stop", original } = (result ?? {}) as Partial<Completion>;
  if (typeof text !== "string" || !Array.isArray(toolCalls)) {
    throw new AgentError("internal", "the model's result is not of the form {text, toolCalls, finishReason}");
  }
  return { text, toolCalls, finishReason, ...(original !== undefined && { original }) };
}

/** The answer of a model as a message for its next prompt. */
export function toMessage({ text, toolCalls, original }: Completion): Message {
  return {
    role: "assistant",
    content: text,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(original !== undefined && { original }),
  };
}
