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

/** Makes the answer of what a handler returned. Its result is the text, else the output as JSON. */
export function toAnswer(value: Json, { operation, said }: Answering): Answer {
  const isChat = operation === CHAT;
  const own = isChat ? chatText(value) : typeof value === "string" ? value : undefined;
  const output = isChat && isText(value) ? null : value;
  const json = output === null ? undefined : toSummary(output);
  const whole = own ?? (said.text === "" ? (json ?? (isChat ? "" : null)) : said.text);
  const text = whole === null ? null : cut(whole, RESULT_LIMIT_BYTES);
  return {
    value: isChat ? { output: text } : value,
    text,
    output,
    summary: isChat ? (text ?? "") : (json ?? text ?? ""),
    truncated: text !== whole || (own === undefined && !said.isWhole),
  };
}

/** Makes the answer of an agent on another server, which may not send the output as JSON. */
export function toRemoteAnswer(
  { result, output, truncated }: RemoteResult,
  { operation, said }: Answering,
): Answer {
  const isChat = operation === CHAT;
  const json = output === null ? undefined : toSummary(output);
  const whole = result ?? (said.text === "" ? (json ?? (isChat ? "" : null)) : said.text);
  const text = whole === null ? null : cut(whole, RESULT_LIMIT_BYTES);
  return {
    value: isChat ? { output: text } : output,
    text,
    output,
    summary: isChat ? (text ?? "") : (json ?? text ?? ""),
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

/** Whether what a chat handler returned is its text and nothing else. */
function isText(value: Json): boolean {
  return (
    typeof value === "string" || (chatText(value) !== undefined && Object.keys(value ?? {}).length === 1)
  );
}
