import { AgentError } from "../errors.ts";
import type { Model } from "../ports/model.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Schema } from "../runtime/agent/agent.ts";
import { parseWith } from "../runtime/agent/schema.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import { withAttachments } from "./prompt/attached.ts";
import { callTools } from "./call-tools.ts";
import { Conversation } from "./prompt/conversation.ts";
import { parseCompletion, toMessage } from "./prompt/prompt.ts";
import type { Completion, Prompt } from "./prompt/prompt.ts";
import type { ToolSet } from "./tool-set.ts";

/** How an agent that a model speaks for is set up. */
export interface LlmSettings {
  readonly name: string;
  readonly model: Model;
  readonly instructions: string | ((turn: Turn) => string);
  readonly tools: ToolSet;
  readonly maxSteps: number;
  readonly historyBytes: number;
  readonly output?: Schema<unknown>;
  readonly outputSchema?: JsonObject;
}

/** What the model came to in the end: its last words, and the value they are where a value was wanted. */
export interface LlmAnswer {
  readonly text: string;
  readonly value?: Json;
}

/** Has a model answer a text, with all the calls it wants to make on the way. */
export async function converse(settings: LlmSettings, input: string, turn: Turn): Promise<LlmAnswer> {
  const { name, model, tools, maxSteps, historyBytes } = settings;
  const conversation = new Conversation(turn.memory.get(), historyBytes);
  const frame = toFrame(settings, turn);
  conversation.add(await withAttachments(input, turn, historyBytes / 4));
  let said = "";
  for (let step = 1; step <= maxSteps; step += 1) {
    await conversation.compact(turn, model);
    const prompt: Prompt = { ...frame, messages: conversation.messages, tools: tools.descriptions };
    const speaker = /\S$/.test(said) ? apart(model) : model;
    const result = await turn.complete({ model: speaker, input: prompt as unknown as Json });
    const completion = parseCompletion(result);
    conversation.add(toMessage(completion));
    said += completion.text;
    if (completion.toolCalls.length > 0) {
      conversation.add(...(await callTools(turn, completion.toolCalls, tools, historyBytes / 4)));
      continue;
    }
    const { answer, objection } = await toAnswer(completion, settings);
    if (answer) {
      turn.memory.set(conversation.toJson());
      return answer;
    }
    conversation.add({ role: "user", content: objection });
  }
  throw new Error(
    `agent ${name} has asked its model ${maxSteps} times and there is no answer yet (maxSteps)`,
  );
}

/** The part of the prompt that stays the same through a turn. */
function toFrame(
  { instructions, outputSchema }: LlmSettings,
  turn: Turn,
): Pick<Prompt, "instructions" | "output"> {
  const own = typeof instructions === "function" ? instructions(turn) : instructions;
  if (outputSchema === undefined) return { instructions: own };
  const { $schema: _, ...output } = outputSchema;
  const form = `Your final answer is JSON that fits this schema, and nothing else: ${JSON.stringify(output)}`;
  return { instructions: `${own}\n\n${form}`.trim(), output };
}

/** The same model, whose words are set off from what was said before. */
function apart(model: Model): Model {
  return {
    name: model.name,
    async *generate(input, context) {
      let isFirst = true;
      for await (const part of model.generate(input, context)) {
        if (part.type === "text" && isFirst) yield { type: "text", text: `\n\n${part.text}` };
        else yield part;
        isFirst &&= part.type !== "text";
      }
    },
  };
}

type Judged =
  | { readonly answer: LlmAnswer; readonly objection?: undefined }
  | { readonly answer?: undefined; readonly objection: string };

async function toAnswer({ text, finishReason }: Completion, { output }: LlmSettings): Promise<Judged> {
  if (finishReason === "content-filter") throw new Error("the model's provider has withheld the answer");
  if (output === undefined) return { answer: { text } };
  try {
    const value = parseJson(text);
    // Only checked here: what a schema makes of it is for whoever asked for a value.
    await parseWith(output, value, "the answer");
    return { answer: { text, value } };
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    return { objection: `${thrown.message}. Answer again, with the JSON only.` };
  }
}

/** Reads JSON that a model wrote, which may stand in a fence. */
function parseJson(text: string): Json {
  const [, fenced] = /^\s*```(?:json)?\s*\n([^]*?)\n\s*```\s*$/.exec(text) ?? [];
  try {
    return JSON.parse(fenced ?? text) as Json;
  } catch {
    throw new AgentError("unprocessable", "the answer is not JSON");
  }
}
