import type { Model } from "../../ports/model.ts";
import type { Json } from "../../protocol/json.ts";
import { byteLength, cut } from "../../runtime/journal/json-limits.ts";
import type { Turn } from "../../runtime/agent/turn-api.ts";
import { withNewestImages } from "./images.ts";
import { parseCompletion } from "./prompt.ts";
import type { Message } from "./prompt.ts";

/** A conversation of at most this size fits into an agent's memory, whatever its newest messages are. */
export const HISTORY_LIMIT_BYTES: number = 256 * 1024;

/**
 * What an agent and its caller have said in a run. Past its budget the older part is replaced by a
 * summary that the model makes; the newest messages and what was asked last stay as they are.
 */
export class Conversation {
  readonly #budgetBytes: number;
  #summary: string | undefined;
  #messages: readonly Message[];

  /** Begins with what the agent remembers of the run. */
  constructor(remembered: Json | undefined, budgetBytes: number) {
    const { summary, messages } = (remembered ?? {}) as Partial<Remembered>;
    this.#budgetBytes = budgetBytes;
    this.#summary = typeof summary === "string" ? summary : undefined;
    this.#messages = Array.isArray(messages) ? (messages as readonly Message[]) : [];
  }

  /** The conversation as a model gets it. */
  get messages(): readonly Message[] {
    const messages = withNewestImages(this.#messages);
    if (this.#summary === undefined) return messages;
    const content = `What was said before, in short:\n${this.#summary}`;
    return [{ role: "user", content }, ...messages];
  }

  add(...messages: readonly Message[]): void {
    this.#messages = [...this.#messages, ...messages];
  }

  /** What to remember of the run. */
  toJson(): Json {
    const remembered: Remembered = {
      ...(this.#summary !== undefined && { summary: this.#summary }),
      messages: this.#messages,
    };
    return remembered as unknown as Json;
  }

  /** Makes the conversation short enough for the next completion. */
  async compact(turn: Turn, model: Model): Promise<void> {
    if (sizeOf(this.messages) <= this.#budgetBytes) return;
    const start = this.#startOfNewest();
    const older = this.#messages.slice(0, start);
    // Without the question the newest messages would be answers to nothing.
    const question = this.#messages.findLast(({ role }) => role === "user");
    const kept = question !== undefined && older.includes(question) ? [question] : [];
    if (older.length === kept.length) return;
    const result = await turn.complete({ model: aside(model), input: toRequest(this.#summary, older) });
    this.#summary = cut(parseCompletion(result).text, this.#budgetBytes / 8);
    this.#messages = [
      ...kept.map((message) => ({ ...message, content: cut(message.content, this.#budgetBytes / 4) })),
      ...this.#messages.slice(start),
    ];
  }

  /** Where the newest messages start that fill half of the budget; results are never parted from their calls. */
  #startOfNewest(): number {
    let start = this.#messages.length;
    let sizeBytes = 0;
    for (let index = start - 1; index >= 0; index -= 1) {
      const message = this.#messages[index] as Message;
      sizeBytes += sizeOf(message);
      if (sizeBytes > this.#budgetBytes / 2 && start < this.#messages.length) break;
      if (message.role !== "tool") start = index;
    }
    return start;
  }
}

/** What an agent keeps in its memory. */
interface Remembered {
  readonly summary?: string;
  readonly messages: readonly Message[];
}

/** The same model, whose words are no part of the answer. */
function aside(model: Model): Model {
  return {
    name: model.name,
    async *generate(input, context) {
      for await (const part of model.generate(input, context)) {
        yield part.type === "text" ? { type: "reasoning", text: part.text } : part;
      }
    },
  };
}

/** Asks for a summary. The messages come as one text, since not every model takes calls of tools it is not offered. */
function toRequest(summary: string | undefined, older: readonly Message[]): Json {
  const lines = older.flatMap(toLines);
  if (summary !== undefined) lines.unshift(`Before that, in short: ${summary}`);
  return {
    instructions: SUMMARIZE,
    messages: [{ role: "user", content: lines.join("\n") }],
    tools: [],
  };
}

const SUMMARIZE =
  "Summarize this conversation between a user and an assistant for the assistant, who goes on with it. " +
  "Keep names, numbers, decisions, results of tools and what is still to be done. Answer with the summary only.";

function toLines(message: Message): readonly string[] {
  switch (message.role) {
    case "user":
      return [`User: ${message.content}`];
    case "assistant":
      return [
        ...(message.content === "" ? [] : [`Assistant: ${message.content}`]),
        ...(message.toolCalls ?? []).map(
          ({ name, input }) => `Assistant calls ${name} with ${JSON.stringify(input)}`,
        ),
      ];
    case "tool":
      return [`${message.name} ${message.isError ? "failed" : "answered"}: ${message.content}`];
    default: {
      const never: never = message;
      return never;
    }
  }
}

function sizeOf(value: object): number {
  return byteLength(JSON.stringify(value));
}
