import { AgentError } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { LanguageModel, Model, QueueOptions } from "../../ports/model.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { toQueueOptions } from "../agent/call-options.ts";
import { keyVariableOf, toModelError } from "./model-error.ts";
import { parsePrompt } from "./prompt.ts";
import type { ModelSettings, Prompt } from "./prompt.ts";
import { ProviderAnswer } from "./provider-answer.ts";
import type { StreamPart } from "./provider-answer.ts";
import type { PriceTable, TokenPrice } from "../../ports/prices.ts";
import { findPrice } from "./prices.ts";
import { reportsOnTheWay, usageOf, UsageOnTheWay } from "./provider-usage.ts";
import { toProviderCall } from "./provider-call.ts";

/** How a model of the AI SDK is used. */
export interface AiSdkModelOptions extends QueueOptions {
  /** Shown in the events of each completion. Default: the names of provider and model. */
  readonly name?: string;
  /** A label for the account that pays, if the process uses several for models of one name; not the key itself. */
  readonly account?: string;
  /** How it answers; what a prompt says of that comes first. */
  readonly settings?: ModelSettings;
  /**
   * Whether the model accepts images. Otherwise it gets only their names, because most such models refuse
   * images. Default true.
   */
  readonly images?: boolean;
  /** Whether the model accepts PDF documents and sounds. Otherwise it gets only their names. Default: as `images`. */
  readonly files?: boolean;
  /**
   * The environment variable with the key of the provider, which the error of a refused key names. Default: that of the
   * provider in the AI SDK, if it is known.
   */
  readonly keyVariable?: string;
  /**
   * The price of a million tokens, from which each completion reports its cost. Default: what the `prices` of the runtime or the
   * table of this package say; the cost of a model that is in neither is unknown.
   */
  readonly price?: TokenPrice;
}

/** Whether a value is a language model of an AI SDK provider. */
function isLanguageModel(value: unknown): value is LanguageModel {
  const { specificationVersion, modelId } = (value ?? {}) as Partial<LanguageModel>;
  return typeof specificationVersion === "string" && typeof modelId === "string";
}

/** A model that code gives, as the runtime asks it. Throws for a value that is none; `place` names where it is given. */
export function toModel(given: Model | LanguageModel, place: string): Model {
  if (isLanguageModel(given)) {
    const known = CONVERTED.get(given);
    if (known !== undefined) return known;
    const model = providerModel(given);
    CONVERTED.set(given, model);
    return model;
  }
  if (typeof (given as Partial<Model> | undefined)?.generate === "function") return given;
  throw new AgentError("invalid_request", `the model of ${place} is not a model`, {
    hint: "use a model of an AI SDK provider, modelFromEnv or scriptedModel",
  });
}

/** One model for each of a provider, because its queue and its place among the fallbacks belong to the object. */
const CONVERTED = new WeakMap<LanguageModel, Model>();

/** The versions of the specification that are called. */
const VERSIONS: readonly string[] = ["v2", "v3", "v4"] satisfies LanguageModel["specificationVersion"][];

/** Converts a language model of a provider. It only makes completions: the caller runs the tools, and the runtime retries. */
export function providerModel(model: LanguageModel, options: AiSdkModelOptions = {}): Model {
  const { name = `${model.provider}/${model.modelId}`, settings = {}, images = true } = options;
  const { files = images } = options;
  const { keyVariable = keyVariableOf(model.provider) } = options;
  const { specificationVersion: version } = model;
  if (!VERSIONS.includes(version) || typeof model.doStream !== "function") {
    throw new AgentError(
      "invalid_request",
      `model ${name} has version ${version} of the specification of language models; use one with ${VERSIONS.join(", ")}`,
    );
  }
  const { provider, modelId } = model;
  const raw = reportsOnTheWay(provider);
  let found: { readonly prices: PriceTable | undefined; readonly price: TokenPrice | undefined } | undefined;
  /** The price by the tables. They are the same for all completions of a runtime, so it is looked up once. */
  const priceIn = (prices: PriceTable | undefined): TokenPrice | undefined => {
    if (found === undefined || found.prices !== prices)
      found = { prices, price: findPrice({ provider, modelId, name }, prices) };
    return found.price;
  };
  return {
    name,
    ...(options.account !== undefined && { account: options.account }),
    ...toQueueOptions(options, `model ${name}`),
    async *generate(input, { signal, readArtifact, prices }) {
      const prompt = parsePrompt(input);
      const answer = new ProviderAnswer();
      try {
        const price = options.price ?? priceIn(prices);
        const soFar = new UsageOnTheWay(price);
        const takes = { readFile: readArtifact, images, files, raw };
        const call = await toProviderCall(prompt, { version, settings, ...takes, signal });
        const { stream } = await model.doStream(call as never);
        for await (const part of partsOf(stream as ReadableStream<StreamPart>)) {
          if (part.type === "error") throw part.error;
          if (part.type === "raw") {
            const used = soFar.read(part.rawValue);
            if (used !== undefined) yield { type: "usage", usage: used };
            continue;
          }
          if (part.type !== "finish") {
            yield answer.add(part);
            continue;
          }
          const finishReason = toFinishReason(part.finishReason);
          const usage = usageOf(part, { version, provider, price, asked: call.providerOptions });
          if (finishReason === "content-filter") {
            const message = `${name}: a content filter blocked the answer`;
            throw new ModelError(message, { code: "model_refused", usage });
          }
          const completion = answer.toCompletion(finishReason, usage.input_tokens);
          yield { type: "result", result: completion as unknown as Json, usage };
          return;
        }
      } catch (thrown) {
        throw toModelError(thrown, { name, keyVariable, sent: files ? documentsIn(prompt) : [] });
      }
    },
  };
}

/** The media types of the documents and sounds of a prompt. */
function documentsIn({ messages }: Prompt): readonly string[] {
  const files = messages.flatMap((message) => (message.role === "user" ? (message.files ?? []) : []));
  return [...new Set(files.map(({ mediaType }) => mediaType))].filter((type) => !type.startsWith("image/"));
}

/** The parts of a stream, which is closed with the iteration. */
async function* partsOf(stream: ReadableStream<StreamPart>): AsyncGenerator<StreamPart> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Why the model stopped: a text in version 2, with the provider's own word since version 3. */
function toFinishReason(reason: unknown): string {
  const unified = isObject(reason) ? reason["unified"] : reason;
  return typeof unified === "string" && unified !== "unknown" ? unified : "other";
}
