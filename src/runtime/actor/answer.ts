import { CHAT } from "../agent/agent.ts";
import type { Json } from "../../protocol/json.ts";
import type { RemoteResult } from "../agent/remote-port.ts";
import type { Transcript } from "../replay/transcript.ts";
import { cut } from "../journal/json-limits.ts";

/** What a handler made of its request. */
export interface Answer {
  /** The structured result; of a chat, `{output}`. */
  readonly value: Json;
  /** The result in words; `null` when there are none. */
  readonly text: string | null;
  /** The result as a text for whoever called the agent as a tool. */
  readonly summary: string;
  /** What RequestCompleted carries as the structured result. */
  readonly output: Json;
  readonly truncated: boolean;
}

/** What was asked for, and what was said before the result came. */
export interface Answering {
  readonly operation: string;
  readonly said: Transcript;
}

/** Texts of one result are kept up to this length. */
const RESULT_LIMIT_BYTES = 128 * 1024;

/** Makes the answer of what a handler returned; where that says nothing, its texts do. */
export function toAnswer(value: Json, { operation, said }: Answering): Answer {
  const own = operation === CHAT ? chatText(value) : typeof value === "string" ? value : undefined;
  const whole = own ?? (said.text === "" && operation !== CHAT ? null : said.text);
  const text = whole === null ? null : cut(whole, RESULT_LIMIT_BYTES);
  return {
    value: operation === CHAT ? { output: text } : value,
    text,
    output: operation === CHAT ? null : value,
    summary: operation === CHAT || value === null ? (text ?? "") : toSummary(value),
    truncated: text !== whole || (own === undefined && !said.isWhole),
  };
}

/** Makes the answer of what an agent elsewhere came to. */
export function toRemoteAnswer(
  { result, output, truncated }: RemoteResult,
  { operation, said }: Answering,
): Answer {
  const isChat = operation === CHAT;
  const whole = result ?? (said.text === "" && !isChat ? null : said.text);
  const text = whole === null ? null : cut(whole, RESULT_LIMIT_BYTES);
  return {
    value: isChat ? { output: text } : output,
    text,
    output,
    summary: isChat || output === null ? (text ?? "") : toSummary(output),
    truncated: truncated || text !== whole || (result === null && !said.isWhole),
  };
}

/** A structured result in one text. */
export function toSummary(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What a chat handler returned as its answer; `undefined` when its texts are the answer. */
function chatText(value: Json): string | undefined {
  if (typeof value === "string") return value;
  const output = (value as { readonly output?: Json } | null)?.output;
  return typeof output === "string" ? output : undefined;
}
