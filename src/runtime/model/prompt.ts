import { AgentError } from "../../errors.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

/** The input of `turn.complete` for the models of this package. */
export interface Prompt {
  /** The system prompt; a list for options of the provider on its parts. */
  readonly instructions: Instructions;
  /** The conversation, oldest message first; the model adds the next one. */
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools: readonly ToolDescription[];
  /** JSON Schema of the answer, if it must be JSON. */
  readonly output?: JsonObject;
  /** How the model answers. */
  readonly settings?: ModelSettings;
}

/** How a model answers, as far as it can be told that. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** It stops before it says one of these. */
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** How much it thinks, for models that can be told that. */
  readonly reasoning?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Whether it calls tools: as it likes (`auto`, the default), not, at least one, or this one. */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string };
  /**
   * Tools that the provider runs itself, as a search of the web, in the words of its own API. Their calls are events; nothing
   * here runs them.
   */
  readonly providerTools?: readonly ProviderTool[];
  /**
   * Options that mark where the cache of a provider may end. They are set on the last part of the instructions and on the
   * newest message, so that a conversation is read from the cache as it grows.
   */
  readonly cache?: ProviderOptions;
  /** Options of the call that only the provider knows, by its name. */
  readonly providerOptions?: ProviderOptions;
}

/** A tool that a provider runs, for example `{ id: "anthropic.web_search_20250305", name: "web_search", args: { maxUses: 3 } }`. */
export interface ProviderTool {
  /** The provider and its name for the tool, with a dot between. */
  readonly id: `${string}.${string}`;
  /** What calls of it are named. No tool of the agent may have this name. */
  readonly name: string;
  readonly args?: JsonObject;
}

/** Options that only a provider knows, by its name, for example `{ anthropic: { cacheControl: { type: "ephemeral" } } }`. */
export interface ProviderOptions {
  readonly [provider: string]: JsonObject;
}

/** A system prompt: a text, or its parts in their order. */
export type Instructions = string | readonly Instruction[];

/** A part of a system prompt. */
export interface Instruction {
  readonly content: string;
  readonly providerOptions?: ProviderOptions;
}

/** One message of a conversation. */
export type Message = {
  /** For example, that the provider keeps the conversation up to here in its cache. */
  readonly providerOptions?: ProviderOptions;
} & (
  | {
      readonly role: "user";
      readonly content: string;
      /** Images (PNG, JPEG, GIF or WebP), PDF documents and sounds of the message. They are read when the model is asked. */
      readonly files?: readonly MessageFile[];
    }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls?: readonly ModelToolCall[];
      /** Provider data that the model needs back unchanged, for example signed reasoning. */
      readonly original?: Json;
    }
  | {
      readonly role: "tool";
      /** The id of the call with this result. */
      readonly callId: string;
      readonly name: string;
      readonly content: string;
      readonly isError?: boolean;
      /** Images of the result. */
      readonly files?: readonly MessageFile[];
    }
);

/** A reference to a stored file. */
export interface MessageFile {
  readonly artifactId: ArtifactId;
  readonly name: string;
  /** Of an image, its first bytes decide. */
  readonly mediaType: string;
  readonly sizeBytes: number;
}

/** A tool as a model sees it. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its input. */
  readonly input: JsonObject;
}

/** A call that a model asks for. */
export interface ModelToolCall {
  /** The model's id for the call. */
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** Why the call is invalid, if it is. */
  readonly error?: string;
}

/** The result of `turn.complete` for the models of this package. */
export interface Completion {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter`, `error`, `refused` (by a
   * guard) or `other`. */
  readonly finishReason: string;
  /** What the message of the answer needs besides text and calls, when the model gets it back. */
  readonly original?: Json;
  /** What the provider ignored, for example a setting that the model does not have. */
  readonly warnings?: readonly string[];
  /** How many tokens the prompt had, as the provider reports it. */
  readonly promptTokens?: number;
  /** What guards have said of it, if they did not just let it pass. */
  readonly guarded?: GuardedAnswer;
}

/** What the guards of an agent have said of an answer. */
export interface GuardedAnswer {
  /** The one that refused it, and why. The answer is not there then. */
  readonly refused?: { readonly guard: string; readonly reason: string };
  /** Those that have rewritten it. */
  readonly rewritten?: readonly string[];
  /** What a person is asked before it is said. */
  readonly asks?: readonly { readonly guard: string; readonly question: string }[];
}

/** Parses a prompt; a plain text is a conversation of one message. */
export function parsePrompt(input: Json): Prompt {
  if (typeof input === "string") {
    return { instructions: "", messages: [{ role: "user", content: input }], tools: [] };
  }
  const { instructions = "", messages, tools = [], output, settings } = (input ?? {}) as Partial<Prompt>;
  if (!Array.isArray(messages)) {
    throw new AgentError(
      "invalid_request",
      "the input of a model must be a text, or an object with messages",
    );
  }
  return {
    instructions,
    messages: messages as readonly Message[],
    tools,
    ...(output && { output }),
    ...(settings && { settings }),
  };
}

/** Parses a completion. */
export function parseCompletion(result: Json): Completion {
  const given = (result ?? {}) as Partial<Completion>;
  const { text, toolCalls = [], finishReason = "stop", original, promptTokens, guarded } = given;
  if (typeof text !== "string" || !Array.isArray(toolCalls)) {
    throw new AgentError(
      "internal",
      "the model's result does not have the form {text, toolCalls, finishReason}",
    );
  }
  return {
    text,
    toolCalls,
    finishReason,
    ...(original !== undefined && { original }),
    ...(promptTokens !== undefined && { promptTokens }),
    ...(guarded && { guarded }),
  };
}

/** A system prompt as one text. */
export function toInstructionText(instructions: Instructions): string {
  if (typeof instructions === "string") return instructions;
  return instructions.map(({ content }) => content).join("\n\n");
}

/** Converts a completion to a message for the next prompt. */
export function toMessage({ text, toolCalls, original }: Completion): Message {
  return {
    role: "assistant",
    content: text,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(original !== undefined && { original }),
  };
}
