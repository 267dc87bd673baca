import { CHAT } from "../agent/agent.ts";
import type { Json } from "../../protocol/json.ts";
import type { RemoteResult } from "../agent/remote-port.ts";
import type { ArtifactOptions } from "../agent/turn-api.ts";
import type { Transcript } from "../replay/transcript.ts";
import { cut } from "../journal/json-limits.ts";

/** The result of a handler. */
export interface HandlerResult {
  /** The structured result; for a chat, `{output}`. */
  readonly value: Json;
  /** The result as text; `null` if there is none. */
  readonly text: string | null;
  /** The result as text for a caller that called the agent as a tool. */
  readonly summary: string;
  /** The structured result in RequestCompleted. */
  readonly output: Json;
  readonly truncated: boolean;
}

/**
 * What the conversion of a return value depends on: the operation, and the transcript of the actor before its result.
 */
export interface AnswerContext {
  readonly operation: string;
  readonly transcript: Transcript;
}

/**
 * What a tool returns to publish files with its result: in one commit with it, so that a crash before leaves no step that
 * would make an `unsafe` tool run again.
 */
export class ResultWithFiles {
  readonly value: unknown;
  readonly files: readonly ArtifactOptions[];

  constructor(value: unknown, files: readonly ArtifactOptions[]) {
    this.value = value;
    this.files = files;
  }
}

/** Maximum length of the text of a result. */
const RESULT_LIMIT_BYTES = 128 * 1024;

/**
 * Converts the return value of a handler to a result. Its text is the transcript or the returned text,
 * otherwise the output as JSON.
 */
export function toHandlerResult(value: Json, answering: AnswerContext): HandlerResult {
  const isChat = answering.operation === CHAT;
  const result = (isChat ? chatText(value) : typeof value === "string" ? value : undefined) ?? null;
  const output = isChat && isText(value) ? null : value;
  return toRemoteAnswer({ result, output, truncated: false }, answering);
}

/** Converts the result of a remote agent, whose server may not send the output as JSON. */
export function toRemoteAnswer(
  { result, output, truncated }: Omit<RemoteResult, "ok">,
  { operation, transcript }: AnswerContext,
): HandlerResult {
  const isChat = operation === CHAT;
  const json = output === null ? undefined : toSummary(output);
  const { text: said, isWhole } = transcript;
  const whole = result ?? (said === "" ? (json ?? (isChat ? "" : null)) : said);
  const text = whole === null ? null : cut(whole, RESULT_LIMIT_BYTES);
  return {
    value: isChat ? { output: text } : output,
    text,
    output,
    summary: isChat ? (text ?? "") : (json ?? text ?? ""),
    truncated: truncated || text !== whole || (result === null && !isWhole),
  };
}

/** A structured result as text. */
export function toSummary(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text that a chat handler returned; `undefined` if its texts are the answer. */
function chatText(value: Json): string | undefined {
  if (typeof value === "string") return value;
  const output = (value as { readonly output?: Json } | null)?.output;
  return typeof output === "string" ? output : undefined;
}

/** Whether a chat handler returned only a text. */
function isText(value: Json): boolean {
  return (
    typeof value === "string" || (chatText(value) !== undefined && Object.keys(value ?? {}).length === 1)
  );
}
