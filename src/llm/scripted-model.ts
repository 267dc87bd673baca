import { ModelError } from "../ports/model.ts";
import type { Model, ModelPart } from "../ports/model.ts";
import type { Json } from "../protocol/json.ts";
import { parsePrompt } from "./prompt/prompt.ts";
import type { Completion, Prompt } from "./prompt/prompt.ts";

/** What a scripted model does when it is asked. */
export interface ScriptStep {
  /** What it says. A list is streamed part by part, a text word by word. */
  readonly text?: string | readonly string[];
  /** What it thinks before. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly input: Json }[];
  /** Thrown after what it says. */
  readonly error?: ModelError;
}

/**
 * The lines of a model: a list, of which it takes the one after as many as it has answered in the
 * conversation so far, or a function that decides from the prompt. A text alone is a step that says it.
 */
export type Script = readonly (string | ScriptStep)[] | ((prompt: Prompt) => string | ScriptStep);

/**
 * A model that says what it is told to say. It needs no network, and the same prompt always gets the
 * same answer, also after a restart, so it serves demos and tests.
 */
export function scriptedModel(script: Script, { name = "scripted" }: { readonly name?: string } = {}): Model {
  return {
    name,
    async *generate(input, { signal }) {
      const prompt = parsePrompt(input);
      const step = stepOf(script, prompt);
      for (const part of toParts(step)) {
        if (signal.aborted) throw new ModelError(`${name} was stopped`, { transient: false });
        yield part;
      }
      if (step.error) throw step.error;
      const result = toCompletion(step, prompt);
      yield {
        type: "result",
        result: result as unknown as Json,
        usage: { input_tokens: countTokens(prompt), output_tokens: countTokens(result) },
      };
    },
  };
}

function stepOf(script: Script, prompt: Prompt): ScriptStep {
  const answered = answersIn(prompt);
  const step = typeof script === "function" ? script(prompt) : script[answered];
  if (step === undefined) {
    throw new ModelError(`the script ends after ${answered} answers`, { transient: false });
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

/** Four characters are about one token of English. */
function countTokens(value: object): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}
