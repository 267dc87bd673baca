import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { SseReader } from "../stream/sse-reader.ts";

/** What an endpoint or a command says in its answer. */
export type AnswerEvent =
  /** A text of the agent. */
  | { readonly type: "text"; readonly text: string }
  /** Reasoning before the answer. */
  | { readonly type: "reasoning"; readonly text: string }
  /** The structured result; the last one counts. */
  | { readonly type: "output"; readonly output: Json }
  /**
   * Asks the caller for values, each with a text for a person, when this answer ends. The next request has the answers, and
   * the state.
   */
  | {
      readonly type: "wait";
      readonly questions: { readonly [key: string]: string };
      readonly state?: Json | undefined;
    }
  /** The agent fails. */
  | { readonly type: "error"; readonly message: string };

/** An answer breaks a rule; `message` continues a sentence that begins with who sent it. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}

/** Limits of an answer; one that exceeds them fails its call. */
export interface AnswerLimits {
  /** Maximum bytes of the whole answer. Default 16 MiB. */
  readonly bytes: number;
  /** Maximum characters of a line, and of an answer that is one JSON value. Default 1 Mi. */
  readonly lineCharacters: number;
}

/** The default limits. */
export const answerLimits: AnswerLimits = { bytes: 16 * 1_048_576, lineCharacters: 1_048_576 };

/** Checks an event that code from outside gives; a string is a text. Throws `BadAnswer` for anything else. */
export function toAnswerEvent(said: unknown): AnswerEvent {
  if (typeof said === "string") return { type: "text", text: said };
  const event = parseEvent(said);
  if (event === undefined) throw new BadAnswer(`sends an event of an unknown form: ${shown(said)}`);
  return event;
}

/** The event that a JSON value is; `undefined` if it is none. */
export function parseEvent(json: unknown): AnswerEvent | undefined {
  if (!isObject(json)) return undefined;
  const { type, text, output, questions, state, message } = json;
  switch (type) {
    case "text":
    case "reasoning":
      return typeof text === "string" ? { type, text } : undefined;
    case "output":
      return output === undefined ? undefined : { type, output: output as Json };
    case "wait":
      return isQuestions(questions) ? { type, questions, state: state as Json | undefined } : undefined;
    case "error":
      return typeof message === "string" ? { type, message } : undefined;
    default:
      return undefined;
  }
}

/** The same chunks; throws `BadAnswer` above the limit. */
export async function* withinBytes(
  chunks: AsyncIterable<Uint8Array>,
  { bytes: limit }: AnswerLimits,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > limit) throw new BadAnswer(`sends more than ${limit} bytes`);
    yield chunk;
  }
}

/** Decodes chunks as UTF-8; an invalid byte becomes U+FFFD. */
export async function* decode(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== "") yield text;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
}

/** The lines of a text, without their ends; of an unfinished line at most the limit is in memory. */
export async function* toLines(
  texts: AsyncIterable<string>,
  { lineCharacters: limit }: AnswerLimits,
): AsyncGenerator<string, void> {
  let begun = "";
  const checked = (line: string): string => {
    if (line.length > limit) throw new BadAnswer(`sends a line of more than ${limit} characters`);
    return line;
  };
  for await (const text of texts) {
    const [first = "", ...others] = text.split("\n");
    begun = checked(begun + first);
    for (const next of others) {
      yield begun.endsWith("\r") ? begun.slice(0, -1) : begun;
      begun = checked(next);
    }
  }
  if (begun !== "") yield begun;
}

/** The data of server-sent events. The text `[DONE]`, with which some endpoints end a stream, is none. */
export async function* toData(
  texts: AsyncIterable<string>,
  { lineCharacters: limit }: AnswerLimits,
): AsyncGenerator<string, void> {
  const reader = new SseReader(limit);
  for await (const text of texts) {
    for (const { data } of reader.push(text)) if (data !== undefined && data !== "[DONE]") yield data;
  }
}

/** The whole text of an answer that is one JSON value; `undefined` if it is empty. */
export async function toDocument(
  texts: AsyncIterable<string>,
  { lineCharacters: limit }: AnswerLimits,
): Promise<Json | undefined> {
  let whole = "";
  for await (const text of texts) {
    whole += text;
    if (whole.length > limit) throw new BadAnswer(`answers with JSON of more than ${limit} characters`);
  }
  return whole.trim() === "" ? undefined : toJsonValue(whole);
}

/** Parses JSON; throws `BadAnswer`. */
export function toJsonValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new BadAnswer(`sends what is not JSON: ${shown(text)}`);
  }
}

function isQuestions(value: unknown): value is { readonly [key: string]: string } {
  if (!isObject(value) || Array.isArray(value)) return false;
  const texts = Object.values(value);
  return texts.length > 0 && texts.every((text) => typeof text === "string");
}

/** The beginning of a value, for an error. */
function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return JSON.stringify(text.slice(0, SHOWN_LENGTH)) + (text.length > SHOWN_LENGTH ? "…" : "");
}

const SHOWN_LENGTH = 80;
