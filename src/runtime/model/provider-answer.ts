import { messageOf } from "../../errors.ts";
import type { ModelPart } from "../../ports/model.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { byteLength, cut } from "../journal/json-limits.ts";
import type { Completion, ModelToolCall, ProviderOptions } from "./prompt.ts";

/** A part of the stream of a provider's model, as far as it is read. The versions of the specification have these in common. */
export type StreamPart =
  | { readonly type: "stream-start"; readonly warnings?: readonly object[] }
  | (BlockPart & { readonly type: `${"text" | "reasoning"}-${"start" | "end"}` })
  | (BlockPart & { readonly type: "text-delta" | "reasoning-delta"; readonly delta: string })
  | (CallPart & { readonly type: "tool-call"; readonly input: string; readonly providerExecuted?: boolean })
  | (CallPart & {
      readonly type: "tool-result";
      readonly result: Json;
      readonly isError?: boolean;
      readonly preliminary?: boolean;
    })
  | (Noted & { readonly type: "file" | "reasoning-file"; readonly mediaType: string; readonly data: unknown })
  | (Noted & { readonly type: "custom"; readonly kind: string })
  | (Noted & { readonly type: "finish"; readonly finishReason: unknown; readonly usage: unknown })
  | { readonly type: "error"; readonly error: unknown }
  /** The same as the provider sends it, if the call asks for that. */
  | { readonly type: "raw"; readonly rawValue: unknown }
  | { readonly type: "ping" };

/** What only the provider knows of a part, for example a signature, and must get back. */
interface Noted {
  readonly providerMetadata?: ProviderOptions;
}

interface BlockPart extends Noted {
  readonly id: string;
}

interface CallPart extends Noted {
  readonly toolCallId: string;
  readonly toolName: string;
}

/** A part of the message of an answer, as the next prompt has it. */
interface ContentPart {
  readonly type: string;
  text?: string;
  providerOptions?: ProviderOptions | undefined;
  readonly [field: string]: unknown;
}

/** Above this size, a message is rebuilt from its text and calls. The results of a few searches are below it. */
const ORIGINAL_LIMIT_BYTES = 128 * 1024;

/** An answer of a provider's model, put together from the parts of its stream. */
export class ProviderAnswer {
  readonly #content: ContentPart[] = [];
  /** The newest blocks of text and reasoning, by their ids. */
  readonly #blocks = new Map<string, ContentPart>();
  readonly #toolCalls: ModelToolCall[] = [];
  readonly #warnings: string[] = [];
  #text = "";

  /** Takes the next part. Returns what it says to the caller. */
  add(part: StreamPart): ModelPart {
    switch (part.type) {
      case "text-delta":
        this.#text += part.delta;
        return this.#say("text", part);
      case "reasoning-delta":
        return this.#say("reasoning", part);
      case "text-start":
      case "text-end":
        this.#note("text", part, { isNew: part.type === "text-start" });
        return PROGRESS;
      case "reasoning-start":
      case "reasoning-end":
        this.#note("reasoning", part, { isNew: part.type === "reasoning-start" });
        return PROGRESS;
      case "tool-call": {
        const { toolCallId, toolName, providerExecuted } = part;
        const call = toToolCall(part);
        // A call that the provider makes itself has its result in the same stream.
        if (providerExecuted !== true) this.#toolCalls.push(call);
        this.#add(part, { type: "tool-call", toolCallId, toolName, input: call.input, providerExecuted });
        if (providerExecuted !== true) return PROGRESS;
        return { type: "tool-call", id: toolCallId, name: toolName, input: call.input };
      }
      case "tool-result": {
        const { toolCallId, toolName, result: value, isError = false, preliminary } = part;
        if (preliminary === true) return PROGRESS;
        const type = isError ? "error-json" : typeof value === "string" ? "text" : "json";
        this.#add(part, { type: "tool-result", toolCallId, toolName, output: { type, value } });
        return { type: "tool-result", id: toolCallId, name: toolName, result: value, isError };
      }
      case "file":
      case "reasoning-file": {
        const { type, mediaType, data } = part;
        this.#add(part, { type, mediaType, data: toBase64(data) });
        return PROGRESS;
      }
      case "custom":
        this.#add(part, { type: "custom", kind: part.kind });
        return PROGRESS;
      case "stream-start":
        this.#warnings.push(...(part.warnings ?? []).map(toWarning));
        return PROGRESS;
      default:
        return PROGRESS;
    }
  }

  /** The complete answer. */
  toCompletion(finishReason: string, promptTokens: number | undefined): Completion {
    const original = this.#original;
    return {
      text: this.#text,
      toolCalls: this.#toolCalls,
      finishReason,
      ...(original !== undefined && { original }),
      ...(promptTokens !== undefined && { promptTokens }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
    };
  }

  /** The message, if it contains more than text and calls. */
  get #original(): Json | undefined {
    const parts = this.#content.filter(
      ({ type, text, providerOptions }) =>
        (type !== "text" && type !== "reasoning") || text !== "" || providerOptions !== undefined,
    );
    const saysMore = parts.some(
      ({ type, providerOptions }) =>
        (type !== "text" && type !== "tool-call") || providerOptions !== undefined,
    );
    if (!saysMore) return undefined;
    const json = JSON.stringify(parts);
    return byteLength(json) > ORIGINAL_LIMIT_BYTES ? undefined : (JSON.parse(json) as Json);
  }

  #say(type: "text" | "reasoning", part: BlockPart & { readonly delta: string }): ModelPart {
    const block = this.#note(type, part);
    block.text = `${block.text ?? ""}${part.delta}`;
    return part.delta === "" ? PROGRESS : { type, text: part.delta };
  }

  /** Notes what a part says of its block, which is a new one if there is none. */
  #note(
    type: "text" | "reasoning",
    { id, providerMetadata }: BlockPart,
    { isNew = false }: { readonly isNew?: boolean } = {},
  ): ContentPart {
    const key = `${type} ${id}`;
    let block = isNew ? undefined : this.#blocks.get(key);
    if (block === undefined) {
      block = { type, text: "" };
      this.#blocks.set(key, block);
      this.#content.push(block);
    }
    if (providerMetadata !== undefined) block.providerOptions = providerMetadata;
    return block;
  }

  #add({ providerMetadata }: Noted, part: ContentPart): void {
    this.#content.push({ ...part, ...(providerMetadata && { providerOptions: providerMetadata }) });
  }
}

const PROGRESS: ModelPart = { type: "progress" };

function toToolCall(part: Extract<StreamPart, { readonly type: "tool-call" }>): ModelToolCall {
  const { toolCallId: id, toolName: name, input } = part;
  try {
    return { id, name, input: input.trim() === "" ? {} : (JSON.parse(input) as Json) };
  } catch (thrown) {
    const error = cut(
      `the input of ${name} is not JSON: ${messageOf(thrown)}: ${input}`,
      CALL_ERROR_LIMIT_BYTES,
    );
    // The next prompt needs an object here.
    return { id, name, input: {}, error };
  }
}

/** The message repeats the input, which can be long. */
const CALL_ERROR_LIMIT_BYTES = 2 * 1024;

/** The data of a file in the answer: bytes, base64, or either of them with a tag. */
function toBase64(data: unknown): unknown {
  if (data instanceof Uint8Array) {
    let bytes = "";
    for (const byte of data) bytes += String.fromCharCode(byte);
    return btoa(bytes);
  }
  return isObject(data) && data["type"] === "data" ? toBase64(data["data"]) : data;
}

/** What a provider warns of, in words. */
function toWarning(warning: object): string {
  const { type, message, details, feature, setting } = warning as { readonly [name: string]: unknown };
  const what = feature ?? setting;
  const words = [type, what, details ?? message].filter((word) => typeof word === "string");
  return words.join(": ");
}
