import type { LanguageModel } from "../../ports/model.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import { isObject } from "../../protocol/json.ts";
import type { StreamPart } from "./provider-answer.ts";

/** The price of a million tokens. */
export interface TokenPrice {
  readonly input: number;
  /** Of input that the provider had in its cache. Default: that of other input. */
  readonly cachedInput?: number;
  /** Of input that the provider has put into its cache. Default: that of other input. */
  readonly cacheWrite?: number;
  readonly output: number;
  /** Of reasoning. Default: that of other output. */
  readonly reasoning?: number;
}

/** The model that reports a usage. */
interface Reporter {
  readonly version: LanguageModel["specificationVersion"];
  readonly provider: string;
  readonly price: TokenPrice | undefined;
}

/** The last part of a stream, which has the usage. */
type FinishPart = Extract<StreamPart, { readonly type: "finish" }>;

/** The usage of a completion. Cached tokens are among those of the input, reasoning among those of the output. */
export function usageOf(part: FinishPart, { version, provider, price }: Reporter): Usage {
  const tokens = version === "v2" ? toFlatTokens(part, provider) : toGroupedTokens(part);
  const { input, cached, output, reasoning } = tokens;
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(output !== undefined && { output_tokens: output }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(price && { cost: toCost(tokens, price) }),
  };
}

/** Counts of tokens; undefined where the provider does not say them. */
type Tokens = {
  readonly [Kind in "input" | "cached" | "written" | "output" | "reasoning"]?: number | undefined;
};

function toGroupedTokens({ usage }: FinishPart): Tokens {
  const input = fieldsOf(fieldsOf(usage)["inputTokens"]);
  const output = fieldsOf(fieldsOf(usage)["outputTokens"]);
  return {
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
    input: input === undefined ? undefined : input + apart,
    cached,
    written,
    output: toCount(outputTokens),
    reasoning: toCount(reasoningTokens),
  };
}

/** What tokens cost. */
export function toCost(tokens: Tokens, price: TokenPrice): number {
  const { cachedInput = price.input, cacheWrite = price.input, reasoning = price.output } = price;
  const { input = 0, cached = 0, written = 0, output = 0, reasoning: thought = 0 } = tokens;
  const read =
    Math.max(input - cached - written, 0) * price.input + cached * cachedInput + written * cacheWrite;
  const said = Math.max(output - thought, 0) * price.output + thought * reasoning;
  return (read + said) / 1_000_000;
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return isObject(value) ? value : {};
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
