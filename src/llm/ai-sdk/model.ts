import type * as ai from "ai";
import { messageOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model, ModelPart } from "../../ports/model.ts";
import type { Usage } from "../../protocol/events.ts";
import type { Json } from "../../protocol/json.ts";
import { toModelError } from "./fault.ts";
import { parsePrompt } from "../prompt/prompt.ts";
import type { Completion, ModelToolCall, Prompt } from "../prompt/prompt.ts";
import { toModelMessage } from "./to-model-message.ts";

/** A language model as the providers of the AI SDK make them. */
export interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** What `aiSdkModel` takes beside the model. */
export interface AiSdkModelOptions {
  /** Shown in the events of each completion. Default the provider's name and the model's. */
  readonly name?: string;
  /** Settings of the call, as the AI SDK has them. */
  readonly settings?: {
    readonly maxOutputTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
    readonly seed?: number;
    readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } };
  };
  /** Whether the model can see. Pictures are only named to one that cannot, since most refuse them. Default true. */
  readonly images?: boolean;
  /** What a million tokens cost; given, each completion says what it cost. */
  readonly price?: { readonly input: number; readonly output: number };
}

/**
 * Makes a model of the AI SDK one that `turn.complete` and `llmAgent` take. It only asks: tools are
 * called by whoever asked, and another try is the runtime's business. Needs the package `ai`, version 7.
 */
export function aiSdkModel(
  model: LanguageModel,
  { name = `${model.provider}/${model.modelId}`, settings, images = true, price }: AiSdkModelOptions = {},
): Model {
  return {
    name,
    async *generate(input, { signal, readArtifact }) {
      const { streamText, ...sdk } = await load();
      const prompt = parsePrompt(input);
      const toolCalls: ModelToolCall[] = [];
      let text = "";
      try {
        const readImage = images ? readArtifact : undefined;
        const messages = await Promise.all(
          prompt.messages.map((message) => toModelMessage(message, readImage)),
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
          // It also comes as a part of the stream; without this the SDK prints it.
          onError() {},
        });
        for await (const part of stream.stream) {
          if (part.type === "error") throw part.error;
          if (part.type === "text-delta") text += part.text;
          if (part.type === "tool-call") toolCalls.push(toToolCall(part));
          if (part.type === "text-delta" || part.type === "reasoning-delta") yield* toParts(part);
          if (part.type !== "finish") continue;
          const original = toOriginal((await stream.response).messages[0]);
          const completion: Completion = {
            text,
            toolCalls,
            finishReason: part.finishReason,
            ...(original !== undefined && { original }),
          };
          const { inputTokens, outputTokens } = part.totalUsage;
          yield {
            type: "result",
            result: completion as unknown as Json,
            usage: toUsage(inputTokens, outputTokens, price),
          };
          return;
        }
      } catch (thrown) {
        throw toModelError(name, thrown);
      }
    },
  };
}

type Sdk = typeof ai;

async function load(): Promise<Sdk> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new ModelError("the package ai is not installed: npm install ai", { transient: false, cause });
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
  const message = messageOf(error) || "the call is not valid";
  // What the model wrote may be no JSON at all, and it is to see its call again as an object.
  return { id, name, input: typeof input === "object" ? (input as Json) : {}, error: message };
}

function* toParts(part: {
  readonly type: "text-delta" | "reasoning-delta";
  readonly text: string;
}): Generator<ModelPart> {
  if (part.text !== "") yield { type: part.type === "text-delta" ? "text" : "reasoning", text: part.text };
}

/** Beyond this size a message is told again in our own words. */
const ORIGINAL_LIMIT = 64 * 1024;

/** The message as the SDK has it, where it says more than its text and its calls. */
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

function toUsage(
  input: number | undefined,
  output: number | undefined,
  price: AiSdkModelOptions["price"],
): Usage {
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(output !== undefined && { output_tokens: output }),
    ...(price && { cost: ((input ?? 0) * price.input + (output ?? 0) * price.output) / 1_000_000 }),
  };
}
