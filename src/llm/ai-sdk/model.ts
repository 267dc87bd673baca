import type * as ai from "ai";
import { AgentError, messageOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model, ModelContext, ModelPart, QueueOptions } from "../../ports/model.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import { toQueueOptions } from "../../runtime/agent/call-options.ts";
import { cut } from "../../runtime/journal/json-limits.ts";
import { imageTypeOf } from "../prompt/images.ts";
import { keyVariableOf, toModelError } from "./model-error.ts";
import { parsePrompt } from "../prompt/prompt.ts";
import type { Completion, Message, MessageImage, ModelToolCall, Prompt } from "../prompt/prompt.ts";

/** A language model of an AI SDK provider. */
export interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** Whether a value is a language model of an AI SDK provider. */
export function isLanguageModel(value: unknown): value is LanguageModel {
  const { specificationVersion, modelId } = (value ?? {}) as Partial<LanguageModel>;
  return typeof specificationVersion === "string" && typeof modelId === "string";
}

/** How a model of the AI SDK is used. */
export interface AiSdkModelOptions extends QueueOptions {
  /** Shown in the events of each completion. Default: the names of provider and model. */
  readonly name?: string;
  /** A label for the account that pays, if the process uses several for models of one name; not the key itself. */
  readonly account?: string;
  /** Call settings of the AI SDK. */
  readonly settings?: {
    readonly maxOutputTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
    readonly seed?: number;
    readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } };
  };
  /**
   * Whether the model accepts images. Otherwise it gets only their names, because most such models refuse
   * images. Default true.
   */
  readonly images?: boolean;
  /**
   * The environment variable with the key of the provider, which the error of a refused key names. Default: that of the
   * provider in the AI SDK, if it is known.
   */
  readonly keyVariable?: string;
  /**
   * The price of a million tokens; if given, each completion reports its cost. Default: tokens from the cache of the
   * provider cost as much as others of the input, and reasoning as much as other output.
   */
  readonly price?: {
    readonly input: number;
    readonly cachedInput?: number;
    readonly output: number;
    readonly reasoning?: number;
  };
}

/**
 * Converts a model of the AI SDK for `turn.complete` and `llmAgent`. It only makes completions: the caller
 * runs the tools, and the runtime retries. Needs the package `ai`, version 7.
 */
export function aiSdkModel(model: LanguageModel, options: AiSdkModelOptions = {}): Model {
  const { name = `${model.provider}/${model.modelId}`, settings, images = true, price } = options;
  const { keyVariable = keyVariableOf(model.provider) } = options;
  return {
    name,
    ...(options.account !== undefined && { account: options.account }),
    ...toQueueOptions(options, `model ${name}`),
    async *generate(input, { signal, readArtifact }) {
      const { streamText, ...sdk } = await load();
      const prompt = parsePrompt(input);
      const toolCalls: ModelToolCall[] = [];
      let text = "";
      try {
        const readImage = images ? readArtifact : undefined;
        const messages = await Promise.all(
          prompt.messages.filter(saysAnything).map((message) => toModelMessage(message, readImage)),
        );
        const stream = streamText({
          ...(settings as object),
          model: model as ai.LanguageModel,
          ...(prompt.instructions !== "" && { instructions: prompt.instructions }),
          messages,
          ...(prompt.tools.length > 0 && { tools: toSdkTools(prompt, sdk) }),
          ...(prompt.output && { output: sdk.Output.object({ schema: sdk.jsonSchema(prompt.output) }) }),
          maxRetries: 0,
          abortSignal: signal,
          // The error also comes as a part of the stream; without this callback the SDK prints it.
          onError() {},
        });
        for await (const part of stream.stream) {
          if (part.type === "error") throw part.error;
          if (part.type === "text-delta") text += part.text;
          // A call that the provider makes itself has its result in the same stream.
          if (part.type === "tool-call" && part.providerExecuted !== true) toolCalls.push(toToolCall(part));
          if (part.type === "text-delta" || part.type === "reasoning-delta") yield* toParts(part);
          if (part.type !== "finish") continue;
          if (part.finishReason === "content-filter")
            throw new ModelError(`${name}: a content filter blocked the answer`, { code: "model_refused" });
          const original = toOriginal((await stream.response).messages[0]);
          const completion: Completion = {
            text,
            toolCalls,
            finishReason: part.finishReason,
            ...(original !== undefined && { original }),
          };
          yield {
            type: "result",
            result: completion as unknown as Json,
            usage: toUsage(part.totalUsage, price),
          };
          return;
        }
      } catch (thrown) {
        throw toModelError(thrown, { name, keyVariable });
      }
    },
  };
}

type Sdk = typeof ai;

async function load(): Promise<Sdk> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new ModelError("the package ai is not installed: npm install ai", { cause });
  }
}

function toSdkTools({ tools }: Prompt, { tool, jsonSchema }: Pick<Sdk, "tool" | "jsonSchema">): ai.ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [
      name,
      tool({ description, inputSchema: jsonSchema(input as never) }),
    ]),
  );
}

function toToolCall(call: {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly invalid?: boolean | undefined;
  readonly error?: unknown;
}): ModelToolCall {
  const { toolCallId: id, toolName: name, input, invalid = false, error } = call;
  if (!invalid) return { id, name, input: input as Json };
  // It repeats the input, which can be long.
  const message = cut(messageOf(error) || "the call is not valid", CALL_ERROR_LIMIT_BYTES);
  // The model may have written invalid JSON; its next prompt needs an object here.
  return { id, name, input: typeof input === "object" ? (input as Json) : {}, error: message };
}

const CALL_ERROR_LIMIT_BYTES = 2 * 1024;

function* toParts(part: {
  readonly type: "text-delta" | "reasoning-delta";
  readonly text: string;
}): Generator<ModelPart> {
  if (part.text !== "") yield { type: part.type === "text-delta" ? "text" : "reasoning", text: part.text };
}

/** Above this size, a message is rebuilt from its text and calls. */
const ORIGINAL_LIMIT = 64 * 1024;

/** The SDK's own message, if it contains more than text and calls. */
function toOriginal(message: ai.ModelMessage | undefined): Json | undefined {
  if (message?.role !== "assistant" || typeof message.content === "string") return undefined;
  const saysMore = message.content.some(
    (part) =>
      !["text", "tool-call"].includes(part.type) || ("providerOptions" in part && part.providerOptions),
  );
  if (!saysMore) return undefined;
  const json = JSON.stringify(message.content);
  return json.length > ORIGINAL_LIMIT ? undefined : (JSON.parse(json) as Json);
}

/** The token counts of the AI SDK. Cached tokens are among those of the input, reasoning among those of the output. */
function toUsage(
  { inputTokens: input, outputTokens: output, inputTokenDetails, outputTokenDetails }: ai.LanguageModelUsage,
  price: AiSdkModelOptions["price"],
): Usage {
  const cached = inputTokenDetails?.cacheReadTokens;
  const reasoning = outputTokenDetails?.reasoningTokens;
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(output !== undefined && { output_tokens: output }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(price && { cost: toCost({ input, cached, output, reasoning }, price) }),
  };
}

function toCost(
  tokens: { readonly [Kind in "input" | "cached" | "output" | "reasoning"]: number | undefined },
  { input, cachedInput = input, output, reasoning = output }: NonNullable<AiSdkModelOptions["price"]>,
): number {
  const { cached = 0, reasoning: thought = 0 } = tokens;
  const read = ((tokens.input ?? 0) - cached) * input + cached * cachedInput;
  const written = ((tokens.output ?? 0) - thought) * output + thought * reasoning;
  return (read + written) / 1_000_000;
}

/** Reads the bytes of an image; `undefined` for a model without image input. */
type ReadImage = ModelContext["readArtifact"] | undefined;

/** Whether a message of the model has any content. Many providers refuse a conversation with an empty one. */
function saysAnything(message: Message): boolean {
  if (message.role !== "assistant") return true;
  const { content, toolCalls = [], original } = message;
  return content.trim() !== "" || toolCalls.length > 0 || original !== undefined;
}

/** Converts a message to the AI SDK, including its images. */
async function toModelMessage(message: Message, readImage: ReadImage): Promise<ai.ModelMessage> {
  switch (message.role) {
    case "user":
      return { role: "user", content: await toUserContent(message, readImage) };
    case "assistant": {
      const { content, toolCalls = [], original } = message;
      if (original !== undefined) return { role: "assistant", content: original as never };
      const calls = toolCalls.map(({ id, name, input }) => ({
        type: "tool-call" as const,
        toolCallId: id,
        toolName: name,
        input,
      }));
      return {
        role: "assistant",
        content: [...(content.trim() === "" ? [] : [{ type: "text" as const, text: content }]), ...calls],
      };
    }
    case "tool": {
      const { callId, name, content, isError = false } = message;
      const output = { type: isError ? ("error-text" as const) : ("text" as const), value: content };
      return { role: "tool", content: [{ type: "tool-result", toolCallId: callId, toolName: name, output }] };
    }
    default: {
      const never: never = message;
      return never;
    }
  }
}

async function toUserContent(
  { content, images = [] }: Extract<Message, { readonly role: "user" }>,
  readImage: ReadImage,
): Promise<ai.UserContent> {
  if (readImage === undefined || images.length === 0) return content;
  const parts = await Promise.all(images.map((image) => toImagePart(image, readImage)));
  return [{ type: "text", text: content }, ...parts.filter((part) => part !== undefined)];
}

/** The image part; `undefined` if the bytes are not an image, which providers refuse. */
async function toImagePart(
  { artifactId }: MessageImage,
  readImage: NonNullable<ReadImage>,
): Promise<ai.FilePart | undefined> {
  try {
    const data = await readImage(artifactId);
    const mediaType = imageTypeOf(data);
    return mediaType === undefined ? undefined : { type: "file", data, mediaType };
  } catch (thrown) {
    // The file may have been removed since.
    if (thrown instanceof AgentError && thrown.code === "not_found") return undefined;
    throw thrown;
  }
}
