import type { LanguageModel } from "../../ports/model.ts";
import type { TokenPrice } from "../../ports/prices.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import { isObject } from "../../protocol/json.ts";
import type { StreamPart } from "./provider-answer.ts";

/** The model that reports a usage. */
interface Reporter {
  readonly version: LanguageModel["specificationVersion"];
  readonly provider: string;
  readonly price: TokenPrice | undefined;
  /** The options of the call that only the provider knows. */
  readonly asked?: unknown;
}

/** The last part of a stream, which has the usage. */
type FinishPart = Extract<StreamPart, { readonly type: "finish" }>;

/** The usage of a completion. Cached tokens are among those of the input, reasoning among those of the output. */
export function usageOf(part: FinishPart, { version, provider, price, asked }: Reporter): Usage {
  const tokens = version === "v2" ? toFlatTokens(part, provider) : toGroupedTokens(part);
  return toUsage(tokens, priceFor(serviceOf(part, asked), price));
}

/** Providers that say in the middle of an answer what it has used so far. */
const REPORTS = /^(anthropic|vertex\.anthropic|google)\b/;

/** Whether the usage of an answer that breaks off can be known, by what its provider sends. */
export function reportsOnTheWay(provider: string): boolean {
  return REPORTS.test(provider);
}

/** What an answer has used so far, by its parts as Anthropic and Google send them. */
export class UsageOnTheWay {
  readonly #price: TokenPrice | undefined;
  #tokens: Tokens = {};

  constructor(price: TokenPrice | undefined) {
    this.#price = price;
  }

  /** Reads a part as the provider has sent it; `undefined` if it says nothing new. */
  read(sent: unknown): Usage | undefined {
    const { type, message, usage, usageMetadata } = fieldsOf(sent);
    if (type === "message_start") this.#tokens = ofAnthropic(fieldsOf(fieldsOf(message)["usage"]));
    else if (type === "message_delta" && isObject(usage))
      this.#tokens = { ...this.#tokens, output: toCount(usage["output_tokens"]) ?? this.#tokens.output };
    else if (isObject(usageMetadata)) this.#tokens = ofGoogle(usageMetadata);
    else return undefined;
    return toUsage(this.#tokens, this.#price);
  }
}

function toUsage(tokens: Tokens, price: TokenPrice | undefined): Usage {
  const { input, cached, output, reasoning } = tokens;
  const isKnown = input !== undefined || output !== undefined;
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(output !== undefined && { output_tokens: output }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(price && isKnown && { cost: toCost(tokens, price) }),
  };
}

/** Counts of tokens; undefined where the provider does not say them. All others are among those of input and output. */
type Tokens = {
  readonly [
    Kind in
      | "input"
      | "cached"
      | "written"
      | "writtenHour"
      | "imageInput"
      | "audioInput"
      | "output"
      | "reasoning"
      | "imageOutput"
      | "audioOutput"
      | "searches"
  ]?: number | undefined;
};

function toGroupedTokens({ usage, providerMetadata }: FinishPart): Tokens {
  const { inputTokens, outputTokens, raw } = fieldsOf(usage);
  const input = fieldsOf(inputTokens);
  const output = fieldsOf(outputTokens);
  return {
    ...detailsIn(fieldsOf(raw)),
    ...detailsIn(fieldsOf(fieldsOf(fieldsOf(providerMetadata)["anthropic"])["usage"])),
    input: toCount(input["total"]),
    cached: toCount(input["cacheRead"]),
    written: toCount(input["cacheWrite"]),
    output: toCount(output["total"]),
    reasoning: toCount(output["reasoning"]),
  };
}

/** Providers whose count of the input, in version 2, is without what they read from their cache or put into it. */
const WITHOUT_CACHE = /^(anthropic|amazon-bedrock|bedrock|vertex\.anthropic)\b/;

/** In version 2 the tokens that were put into a cache are only in the metadata. */
function toFlatTokens({ usage, providerMetadata }: FinishPart, provider: string): Tokens {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = fieldsOf(usage);
  const { anthropic, bedrock } = fieldsOf(providerMetadata);
  const input = toCount(inputTokens);
  const cached = toCount(cachedInputTokens);
  const written =
    toCount(fieldsOf(anthropic)["cacheCreationInputTokens"]) ??
    toCount(fieldsOf(fieldsOf(bedrock)["usage"])["cacheWriteInputTokens"]);
  const apart = WITHOUT_CACHE.test(provider) ? (cached ?? 0) + (written ?? 0) : 0;
  return {
    ...detailsIn(fieldsOf(fieldsOf(anthropic)["usage"])),
    input: input === undefined ? undefined : input + apart,
    cached,
    written,
    output: toCount(outputTokens),
    reasoning: toCount(reasoningTokens),
  };
}

/** What only the provider's own words say: what is kept for an hour, images, sound and searches. */
function detailsIn(raw: Fields): Tokens {
  const input = fieldsOf(raw["prompt_tokens_details"]);
  const output = fieldsOf(raw["completion_tokens_details"]);
  const sent = raw["promptTokensDetails"];
  const said = raw["candidatesTokensDetails"];
  return known({
    writtenHour: toCount(fieldsOf(raw["cache_creation"])["ephemeral_1h_input_tokens"]),
    imageInput: toCount(input["image_tokens"]) ?? ofModality(sent, "IMAGE"),
    audioInput: toCount(input["audio_tokens"]) ?? ofModality(sent, "AUDIO"),
    imageOutput: toCount(output["image_tokens"]) ?? ofModality(said, "IMAGE"),
    audioOutput: toCount(output["audio_tokens"]) ?? ofModality(said, "AUDIO"),
    searches: toCount(fieldsOf(raw["server_tool_use"])["web_search_requests"]),
  });
}

function known(tokens: Tokens): Tokens {
  return Object.fromEntries(Object.entries(tokens).filter(([, count]) => count !== undefined));
}

/** The tokens of images or sounds, as Google lists them. */
function ofModality(list: unknown, modality: string): number | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const entry = entries.map(fieldsOf).find((each) => each["modality"] === modality);
  return toCount(entry?.["tokenCount"]);
}

function ofAnthropic(usage: Fields): Tokens {
  const cached = toCount(usage["cache_read_input_tokens"]) ?? 0;
  const written = toCount(usage["cache_creation_input_tokens"]) ?? 0;
  const input = toCount(usage["input_tokens"]) ?? 0;
  return {
    ...detailsIn(usage),
    input: input + cached + written,
    cached,
    written,
    output: toCount(usage["output_tokens"]),
  };
}

function ofGoogle(usage: Fields): Tokens {
  const reasoning = toCount(usage["thoughtsTokenCount"]) ?? 0;
  return {
    ...detailsIn(usage),
    input: toCount(usage["promptTokenCount"]),
    cached: toCount(usage["cachedContentTokenCount"]),
    output: (toCount(usage["candidatesTokenCount"]) ?? 0) + reasoning,
    reasoning,
  };
}

/** The service level of an answer, if it is not the usual one: as the provider reports it, else as it was asked for. */
function serviceOf({ usage, providerMetadata }: FinishPart, asked: unknown): string | undefined {
  const levelsIn = (options: unknown): readonly unknown[] =>
    Object.values(fieldsOf(options)).map((of) => fieldsOf(of)["serviceTier"]);
  const levels = [fieldsOf(fieldsOf(usage)["raw"])["service_tier"], ...levelsIn(providerMetadata)];
  const isReported = levels.some((level) => typeof level === "string");
  return (isReported ? levels : levelsIn(asked))
    .filter((level) => typeof level === "string")
    .find((level) => OTHER_LEVELS.has(level));
}

/** Levels that have prices of their own; all others are the usual one. */
const OTHER_LEVELS: ReadonlySet<string> = new Set(["flex", "priority", "batch"]);

function priceFor(service: string | undefined, price: TokenPrice | undefined): TokenPrice | undefined {
  return service === undefined ? price : price?.services?.[service];
}

/** What tokens cost. */
export function toCost(tokens: Tokens, price: TokenPrice): number {
  const { input = 0, cached = 0, written = 0, writtenHour = 0, output = 0, reasoning = 0 } = tokens;
  const { imageInput = 0, audioInput = 0, imageOutput = 0, audioOutput = 0, searches = 0 } = tokens;
  const tier = price.longer?.findLast(({ above }) => input > above);
  const of = { ...price, ...tier };
  const cacheWrite = of.cacheWrite ?? of.input;
  const read =
    Math.max(input - cached - written - imageInput - audioInput, 0) * of.input +
    cached * (of.cachedInput ?? of.input) +
    Math.max(written - writtenHour, 0) * cacheWrite +
    writtenHour * (of.cacheWriteHour ?? cacheWrite) +
    imageInput * (of.imageInput ?? of.input) +
    audioInput * (of.audioInput ?? of.input);
  const said =
    Math.max(output - reasoning - imageOutput - audioOutput, 0) * of.output +
    reasoning * (of.reasoning ?? of.output) +
    imageOutput * (of.imageOutput ?? of.output) +
    audioOutput * (of.audioOutput ?? of.output);
  return (read + said) / 1_000_000 + (searches * (of.searches ?? 0)) / 1_000;
}

interface Fields {
  readonly [name: string]: unknown;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
