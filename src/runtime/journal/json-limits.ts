import { AgentError } from "../../errors.ts";
import type { Json } from "../../protocol/json.ts";

/** Maximum size of an encoded event. */
export const EVENT_LIMIT_BYTES: number = 256 * 1024;

/**
 * Converts a value to JSON, as the log stores it and a replay sees it. Throws `unprocessable` if it is not
 * JSON. A value that JSON omits becomes `null`.
 */
export function toJson(value: unknown, what: string, limitBytes: number = EVENT_LIMIT_BYTES): Json {
  if (value === undefined) return null;
  if (value === null || typeof value === "boolean") return value;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new AgentError("unprocessable", `${what} is not a JSON value`, { cause });
  }
  if (text === undefined) return null;
  // A UTF-16 code unit takes at most three bytes, so most values need no exact count.
  if (text.length * 3 > limitBytes && byteLength(text) > limitBytes) {
    throw new AgentError("too_large", `${what} is larger than ${limitBytes} bytes`);
  }
  return JSON.parse(text) as Json;
}

/** Throws `too_large` for a text that does not fit into an event. */
export function checkText(text: string): void {
  // JSON uses at most six bytes per code unit, so most texts need no exact count.
  if (text.length * 6 <= EVENT_LIMIT_BYTES || byteLength(JSON.stringify(text)) <= EVENT_LIMIT_BYTES) return;
  throw new AgentError("too_large", `a text is larger than ${EVENT_LIMIT_BYTES} bytes`);
}

/** The size of a text in UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Cuts a text to a limit and adds a note that it was cut. */
export function cut(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes || byteLength(text) <= limitBytes) return text;
  const note = `… [cut, ${text.length} characters in all]`;
  const bytes = encoder.encode(text).subarray(0, limitBytes - byteLength(note));
  // A character that was cut in two is removed.
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/u, "") + note;
}

const encoder = new TextEncoder();
