import { AgentError } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Collaborators, Schema } from "../runtime/agent/agent.ts";
import { parseWith } from "../runtime/agent/definition/schema.ts";
import type { Attachment, CompletionOptions, Turn } from "../runtime/agent/turn-api.ts";
import { byteLength, cut } from "../runtime/journal/json-limits.ts";
import { callTools } from "./call-tools.ts";
import { judgePrompt, reviewOf, settleAnswer } from "./guards.ts";
import type { ModelGuard } from "./guards.ts";
import { toKit } from "./kit.ts";
import type { KitSource } from "./kit.ts";
import { ChatHistory, toHistoryBytes } from "./prompt/chat-history.ts";
import { toldBefore } from "./prompt/told-before.ts";
import { filesForModels } from "./prompt/files.ts";
import { parseCompletion, toMessage } from "../runtime/model/prompt.ts";
import type { Completion, Instructions, Message, ModelSettings, Prompt } from "../runtime/model/prompt.ts";

/** The settings of an agent that is made from a model. */
export interface LlmSettings {
  readonly name: string;
  /** How the model is asked. */
  readonly completion: Omit<CompletionOptions, "input" | "model">;
  /** The model and the tools. */
  readonly kit: KitSource;
  readonly instructions: Instructions | ((turn: Turn) => Instructions);
  /** How the model answers. */
  readonly settings?: ModelSettings | ((step: LlmStep) => ModelSettings);
  readonly guards: readonly ModelGuard[];
  readonly maxSteps: number;
  readonly parallelCalls: number;
  readonly historyTokens: number;
  readonly output?: Schema<unknown>;
  readonly outputSchema?: JsonObject;
}

/** A step of a turn: the model is about to be asked. */
export interface LlmStep<Config = JsonObject> {
  /** 1 for the first completion of the turn. */
  readonly number: number;
  readonly turn: Turn<Collaborators, Config>;
  /** The conversation so far. */
  readonly messages: readonly Message[];
}

/** The name of the message with which a person steers the model while it works. */
export const STEER = "steer";

/** The model's final answer: its text, and the parsed value if the agent has an output schema. */
export interface LlmAnswer {
  readonly text: string;
  readonly value?: Json;
}

/** Lets a model answer a text and makes the calls that it asks for. */
export async function converse(settings: LlmSettings, input: string, turn: Turn): Promise<LlmAnswer> {
  const { name, guards, maxSteps, parallelCalls, historyTokens } = settings;
  const partBytes = toHistoryBytes(historyTokens) / 4;
  const { model, tools } = await toKit(settings.kit, turn);
  const review = reviewOf(turn, guards);
  const how = { ...settings.completion, model, ...(review && { review }) };
  const conversation = new ChatHistory(turn.memory.get(), historyTokens);
  const frame = toFrame(settings, turn);
  /** Adds what a person says, as the guards let it pass. */
  const hear = async (message: Message): Promise<void> => {
    conversation.add({
      ...message,
      content: await judgePrompt(turn, guards, message.content, { from: "user" }),
    });
  };
  /** Adds the hints that a person has sent since the last look. */
  const addHints = async (): Promise<boolean> => {
    const hints = turn.received(STEER) as readonly string[];
    for (const hint of hints) await hear({ role: "user", content: cut(hint, partBytes) });
    return hints.length > 0;
  };
  // An agent that another one calls is not told what the client has said before.
  if (turn.memory.get() === undefined && turn.agent === turn.self.agent)
    for (const message of toldBefore(turn.metadata, partBytes)) await hear(message);
  await hear(await withAttachments(input, turn, partBytes));
  let said = "";
  for (let step = 1; step <= maxSteps; step += 1) {
    // After the results of all calls: providers accept nothing between a call and its result.
    await addHints();
    await conversation.compact(turn, how);
    const prefix = /\S$/.test(said) ? "\n\n" : "";
    const ask = async (): Promise<Completion> => {
      const { messages } = conversation;
      const own =
        typeof settings.settings === "function"
          ? settings.settings({ number: step, turn, messages })
          : settings.settings;
      const prompt: Prompt = {
        ...frame,
        messages,
        tools: await tools.descriptions(turn),
        ...(own && { settings: own }),
      };
      const input = prompt as unknown as Json;
      const completion = parseCompletion(await turn.complete({ ...how, input, prefix }));
      conversation.measure(prompt, completion.promptTokens);
      return completion;
    };
    const completion = await askOrCompact(ask, conversation, how, turn);
    await settleAnswer(turn, completion, prefix);
    conversation.add(toMessage(completion));
    said += completion.text;
    if (completion.toolCalls.length > 0) {
      const calls = { tools, guards, parallelCalls, limitBytes: partBytes };
      conversation.add(...(await callTools(turn, completion.toolCalls, calls)));
      continue;
    }
    // A hint that came during this completion gets an answer, if the model may be asked again.
    if (step < maxSteps && (await addHints())) continue;
    const { answer, objection } = await toAnswer(completion, settings);
    if (answer) {
      turn.memory.set(conversation.toJson());
      return answer;
    }
    conversation.add({ role: "user", content: objection });
  }
  throw new Error(`agent ${name} has no answer after ${maxSteps} completions (maxSteps)`);
}

/** Asks the model, and once more with a shorter conversation if it has found the prompt too long. */
async function askOrCompact(
  ask: () => Promise<Completion>,
  conversation: ChatHistory,
  how: Omit<CompletionOptions, "input">,
  turn: Turn,
): Promise<Completion> {
  try {
    return await ask();
  } catch (thrown) {
    if (!(thrown instanceof AgentError) || thrown.code !== "context_overflow") throw thrown;
    if (!(await conversation.compact(turn, how, { isTooLong: true }))) throw thrown;
    return ask();
  }
}

/** The constant part of the prompts of a turn. */
function toFrame(
  { instructions, outputSchema }: LlmSettings,
  turn: Turn,
): Pick<Prompt, "instructions" | "output"> {
  const own = typeof instructions === "function" ? instructions(turn) : instructions;
  if (outputSchema === undefined) return { instructions: own };
  const { $schema: _, ...output } = outputSchema;
  const form = `Your final answer must be only JSON that fits this schema: ${JSON.stringify(output)}`;
  return {
    instructions: typeof own === "string" ? `${own}\n\n${form}`.trim() : [...own, { content: form }],
    output,
  };
}

type Judged =
  | { readonly answer: LlmAnswer; readonly objection?: undefined }
  | { readonly answer?: undefined; readonly objection: string };

async function toAnswer({ text, finishReason }: Completion, { output }: LlmSettings): Promise<Judged> {
  if (finishReason === "content-filter")
    throw new AgentError("model_refused", "the model's provider blocked the answer (content filter)");
  if (output === undefined) return { answer: { text } };
  try {
    const value = parseJson(text);
    // Only validates; the caller of the agent converts the value with the schema.
    await parseWith(output, value, "the answer");
    return { answer: { text, value } };
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    if (finishReason === "length")
      throw new Error(`${thrown.message}: the model reached its limit of tokens (maxOutputTokens)`, {
        cause: thrown,
      });
    return { objection: `${thrown.message}. Answer again, only with the JSON.` };
  }
}

/** Parses JSON written by a model, which may be in a code fence. */
function parseJson(text: string): Json {
  const [, fenced] = /^\s*```(?:json)?\s*\n([^]*?)\n\s*```\s*$/.exec(text) ?? [];
  try {
    return JSON.parse(fenced ?? text) as Json;
  } catch {
    throw new AgentError("unprocessable", "the answer is not JSON");
  }
}

/**
 * The user's message with its files: a line for each file, the content of text files, and those that models read themselves. All
 * texts together take at most the limit; the message says what is left out.
 */
async function withAttachments(input: string, turn: Turn, limitBytes: number): Promise<Message> {
  if (turn.request.attachments.length === 0) return { role: "user", content: input };
  const parts = [input];
  let leftBytes = limitBytes;
  const files = await turn.attachments();
  for (const file of files) {
    const { name, mimeType, url } = file;
    const line = `${name} (${mimeType}) ${url}`;
    const content = isText(file) && leftBytes >= LEAST_BYTES ? cut(await file.text(), leftBytes) : undefined;
    leftBytes -= content === undefined ? 0 : byteLength(content);
    parts.push(content === undefined ? `Attached: ${line}` : `Attached: ${line}\n${content}`);
  }
  const shown = filesForModels(files);
  return { role: "user", content: parts.join("\n\n"), ...(shown.length > 0 && { files: shown }) };
}

/** With less space than this, a file is only named. */
const LEAST_BYTES = 1_024;

/** Larger files are not opened. */
const TEXT_LIMIT_BYTES = 4 * 1_048_576;

function isText({ mimeType, sizeBytes }: Attachment): boolean {
  return sizeBytes <= TEXT_LIMIT_BYTES && /^text\/|[/+](json|xml|yaml)\b/.test(mimeType);
}
