import type { Json } from "../../protocol/json.ts";
import { byteLength, cut } from "../../runtime/journal/json-limits.ts";
import type { CompletionOptions, Turn } from "../../runtime/agent/turn-api.ts";
import { withNewestFiles } from "./files.ts";
import { parseCompletion } from "../../runtime/model/prompt.ts";
import type { Message, Prompt } from "../../runtime/model/prompt.ts";

/** Maximum size of a conversation that always fits into an agent's memory. */
const HISTORY_LIMIT_BYTES = 256 * 1024;

/** How many bytes of JSON are a token, until a model reports how many tokens a prompt has. */
const BYTES_PER_TOKEN = 4;

/** Reports outside this range are not plausible: a file in a prompt is a short reference, a word of English few bytes. */
const LEAST_BYTES_PER_TOKEN = 0.25;
const MOST_BYTES_PER_TOKEN = 16;

/** The size of a conversation in bytes, as long as no model has reported its tokens. */
export function toHistoryBytes(tokens: number): number {
  return Math.min(tokens * BYTES_PER_TOKEN, HISTORY_LIMIT_BYTES);
}

/**
 * The conversation of an agent and its caller in a run. Above its budget of tokens, a summary by the model replaces the
 * older part; the newest messages and the last question stay. How many bytes are a token is known from the last prompt whose
 * tokens the model has reported.
 */
export class ChatHistory {
  readonly #budgetTokens: number;
  #bytesPerToken: number;
  #summary: string | undefined;
  #messages: readonly Message[];

  /** Starts with the conversation that the agent remembers. */
  constructor(remembered: Json | undefined, budgetTokens: number) {
    const { summary, messages, bytesPerToken } = (remembered ?? {}) as Partial<RememberedConversation>;
    this.#budgetTokens = budgetTokens;
    this.#bytesPerToken = typeof bytesPerToken === "number" ? bytesPerToken : BYTES_PER_TOKEN;
    this.#summary = typeof summary === "string" ? summary : undefined;
    this.#messages = Array.isArray(messages) ? (messages as readonly Message[]) : [];
  }

  /** The messages for the model. */
  get messages(): readonly Message[] {
    const messages = withNewestFiles(this.#messages);
    if (this.#summary === undefined) return messages;
    const content = `Summary of the earlier conversation:\n${this.#summary}`;
    return [{ role: "user", content }, ...messages];
  }

  add(...messages: readonly Message[]): void {
    this.#messages = [...this.#messages, ...messages];
  }

  /** Learns from what a model has reported how many bytes are a token. */
  measure(prompt: Prompt, tokens: number | undefined): void {
    if (tokens === undefined || tokens === 0) return;
    const bytes = sizeOf(prompt) / tokens;
    this.#bytesPerToken = Math.min(Math.max(bytes, LEAST_BYTES_PER_TOKEN), MOST_BYTES_PER_TOKEN);
  }

  /** The part to store in the agent's memory. */
  toJson(): Json {
    const remembered: RememberedConversation = {
      ...(this.#summary !== undefined && { summary: this.#summary }),
      messages: this.#messages,
      ...(this.#bytesPerToken !== BYTES_PER_TOKEN && { bytesPerToken: this.#bytesPerToken }),
    };
    return remembered as unknown as Json;
  }

  /**
   * Summarizes older messages if the conversation does not fit into its budget, or, because the model has found it too
   * long, into half of its size. Returns whether it has become shorter.
   */
  async compact(
    turn: Turn,
    how: Omit<CompletionOptions, "input">,
    { isTooLong = false }: { readonly isTooLong?: boolean } = {},
  ): Promise<boolean> {
    const sizeBytes = sizeOf(this.messages);
    const ownBytes = Math.min(this.#budgetTokens * this.#bytesPerToken, HISTORY_LIMIT_BYTES);
    const budgetBytes = isTooLong ? Math.min(ownBytes, sizeBytes / 2) : ownBytes;
    if (sizeBytes <= budgetBytes) return false;
    const start = this.#startOfNewest(budgetBytes);
    const older = this.#messages.slice(0, start);
    // Without the question, the newest messages would answer nothing.
    const question = this.#messages.findLast(({ role }) => role === "user");
    const kept = question !== undefined && older.includes(question) ? [question] : [];
    if (older.length === kept.length) return false;
    const text = toText(this.#summary, older);
    // What was too long for the model in an answer is too long for a summary.
    const content = isTooLong ? cut(text, budgetBytes) : text;
    const result = await turn.complete({ ...how, input: toRequest(content), asReasoning: true });
    const { text: summary } = parseCompletion(result);
    // A model can end without a text, for example at its limit of tokens. The older part must not be forgotten then.
    this.#summary = cut(summary.trim() === "" ? content : summary, budgetBytes / 8);
    this.#messages = [
      ...kept.map((message) => ({ ...message, content: cut(message.content, budgetBytes / 4) })),
      ...this.#messages.slice(start),
    ];
    return true;
  }

  /**
   * The index of the newest messages that fill half of a budget; results stay together with their calls.
   */
  #startOfNewest(budgetBytes: number): number {
    let start = this.#messages.length;
    let sizeBytes = 0;
    for (let index = start - 1; index >= 0; index -= 1) {
      const message = this.#messages[index] as Message;
      sizeBytes += sizeOf(message);
      if (sizeBytes > budgetBytes / 2 && start < this.#messages.length) break;
      if (message.role !== "tool") start = index;
    }
    return start;
  }
}

/** The format of the agent's memory. */
interface RememberedConversation {
  readonly summary?: string;
  readonly messages: readonly Message[];
  /** As the model has reported it; absent if it has not. */
  readonly bytesPerToken?: number;
}

/** What is to be summarized, as one text, because some models refuse tool calls without tools. */
function toText(summary: string | undefined, older: readonly Message[]): string {
  const lines = older.flatMap(toLines);
  if (summary !== undefined) lines.unshift(`Before that, in short: ${summary}`);
  return lines.join("\n");
}

/** The prompt for a summary. */
function toRequest(content: string): Json {
  return { instructions: SUMMARIZE, messages: [{ role: "user", content }], tools: [] };
}

const SUMMARIZE =
  "Summarize this conversation between a user and an assistant for the assistant, who will continue it. " +
  "Keep names, numbers, decisions, tool results and open tasks. Answer with the summary only.";

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
