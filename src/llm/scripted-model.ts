import { ModelError } from "../ports/model.ts";
import type { Model, ModelPart, QueueOptions } from "../ports/model.ts";
import type { Json } from "../protocol/json.ts";
import { toQueueOptions } from "../runtime/agent/call-options.ts";
import { parsePrompt, toInstructionText } from "../runtime/model/prompt.ts";
import type { Completion, Prompt } from "../runtime/model/prompt.ts";
import { toCost } from "../runtime/model/provider-usage.ts";
import type { TokenPrice } from "../ports/prices.ts";

/** One completion of a scripted model. */
export interface ScriptStep {
  /** Its text. A list is streamed part by part, a text word by word. */
  readonly text?: string | readonly string[];
  /** Its reasoning before the text. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly input: Json }[];
  /** Thrown after the text. */
  readonly error?: ModelError;
}

/**
 * The answers of a scripted model: a list, indexed by the number of its earlier answers in the conversation,
 * or a function of the prompt. A string is a step with that text.
 */
export type Script =
  | readonly (string | ScriptStep)[]
  | ((prompt: Prompt & { readonly instructions: string }) => string | ScriptStep);

/** The name, limits and price of a scripted model. */
export interface ScriptedModelOptions extends QueueOptions {
  /** Default: `scripted`. */
  readonly name?: string;
  /** What a million tokens would cost; if given, each completion reports its cost, as that of a provider does. */
  readonly price?: TokenPrice;
}

/**
 * A model that answers by a script. It needs no network, and the same prompt always gets the same answer,
 * also after a restart. Use it for demos and tests.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): Model {
  const { name = "scripted", price } = options;
  return {
    name,
    ...toQueueOptions(options, `model ${name}`),
    async *generate(asked, { signal }) {
      const prompt = parsePrompt(asked);
      const step = stepOf(script, prompt);
      for (const part of toParts(step)) {
        if (signal.aborted) throw new ModelError(`${name} was stopped`);
        yield part;
      }
      if (step.error) throw step.error;
      const result = toCompletion(step, prompt);
      const [input, output] = [countTokens(prompt), countTokens(result)];
      yield {
        type: "result",
        result: result as unknown as Json,
        usage: {
          input_tokens: input,
          output_tokens: output,
          ...(price && { cost: toCost({ input, output }, price) }),
        },
      };
    },
  };
}

function stepOf(script: Script, prompt: Prompt): ScriptStep {
  const answered = answersIn(prompt);
  const step =
    typeof script === "function"
      ? script({ ...prompt, instructions: toInstructionText(prompt.instructions) })
      : script[answered];
  if (step === undefined) {
    throw new ModelError(`the script ends after ${answered} answers`);
  }
  return typeof step === "string" ? { text: step } : step;
}

function* toParts({ text = [], reasoning }: ScriptStep): Generator<ModelPart> {
  if (reasoning !== undefined) yield { type: "reasoning", text: reasoning };
  const parts = typeof text === "string" ? (text.match(/^\s+$|(?:^\s+)?\S+\s*/g) ?? []) : text;
  for (const part of parts) yield { type: "text", text: part };
}

function toCompletion({ text = "", toolCalls = [] }: ScriptStep, prompt: Prompt): Completion {
  return {
    text: typeof text === "string" ? text : text.join(""),
    toolCalls: toolCalls.map((call, index) => ({ id: `call-${answersIn(prompt)}-${index}`, ...call })),
    finishReason: toolCalls.length > 0 ? "tool-calls" : "stop",
  };
}

function answersIn({ messages }: Prompt): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

/** A token of English is about four characters. */
function countTokens(value: object): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}
