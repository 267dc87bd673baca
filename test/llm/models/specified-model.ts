import type { LanguageModel } from "troupe";

/** The versions of the specification of language models. */
export const VERSIONS = ["v2", "v3", "v4"] as const;

/** A call of the model, as far as the tests look at it. */
export interface SpecifiedCall {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal?: AbortSignal;
  readonly [option: string]: unknown;
}

/** A part of a stream. */
export type SpecifiedPart = { readonly type: string; readonly [field: string]: unknown };

/** A language model as a provider makes it, with programmed answers, and its calls. */
export interface SpecifiedModel extends LanguageModel {
  readonly calls: SpecifiedCall[];
}

/** How a model answers a call: parts of a stream before its end, a whole stream, or an error. */
export type SpecifiedAnswer = readonly SpecifiedPart[] | ReadableStream<SpecifiedPart> | Error;

/** A language model in a version of the specification. */
export function specifiedModel(
  version: LanguageModel["specificationVersion"],
  ...answers: readonly SpecifiedAnswer[]
): SpecifiedModel {
  const calls: SpecifiedCall[] = [];
  return {
    specificationVersion: version,
    provider: "far.chat",
    modelId: "small",
    calls,
    async doStream(call: SpecifiedCall) {
      calls.push(call);
      const answer = answers[calls.length - 1] ?? [];
      if (answer instanceof Error) throw answer;
      if (answer instanceof ReadableStream) return { stream: answer };
      const isWhole = answer.some(({ type }) => type === "finish" || type === "error");
      const end = isWhole ? [] : [ending(version, answer.some(isCall) ? "tool-calls" : "stop")];
      return { stream: ReadableStream.from([...answer, ...end]) };
    },
  };
}

/** The last part of a stream: 100 tokens of input, 80 of them cached, and 50 of output, 40 of them reasoning. */
export function ending(version: LanguageModel["specificationVersion"], reason: string): SpecifiedPart {
  if (version === "v2") {
    const usage = { inputTokens: 100, cachedInputTokens: 80, outputTokens: 50, reasoningTokens: 40 };
    return { type: "finish", finishReason: reason, usage: { ...usage, totalTokens: 150 } };
  }
  const usage = {
    inputTokens: { total: 100, noCache: 20, cacheRead: 80, cacheWrite: 0 },
    outputTokens: { total: 50, text: 10, reasoning: 40 },
  };
  return { type: "finish", finishReason: { unified: reason, raw: reason }, usage };
}

/** The parts of a text. */
export function saying(text: string, noted: object = {}): readonly SpecifiedPart[] {
  return [
    { type: "text-start", id: "1", ...noted },
    { type: "text-delta", id: "1", delta: text },
    { type: "text-end", id: "1" },
  ];
}

/** A call of a tool. */
export function calling(toolName: string, input: object, more: object = {}): SpecifiedPart {
  return { type: "tool-call", toolCallId: "a", toolName, input: JSON.stringify(input), ...more };
}

function isCall({ type, providerExecuted }: SpecifiedPart): boolean {
  return type === "tool-call" && providerExecuted !== true;
}
