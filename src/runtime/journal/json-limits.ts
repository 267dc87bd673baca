import { AgentError } from "../../errors.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

/** Maximum size of an encoded event. */
export const EVENT_LIMIT_BYTES: number = 256 * 1024;

/** Maximum size of what a caller gives to an event; the rest of the event takes less than 2 KiB. */
export const INPUT_LIMIT_BYTES: number = EVENT_LIMIT_BYTES - 2_048;

/**
 * Converts a value to JSON, as the log stores it and a replay sees it. Throws `unprocessable` if it is not
 * JSON. A value that JSON omits becomes `null`.
 */
export function toJson(value: unknown, what: string, limitBytes: number = EVENT_LIMIT_BYTES): Json {
  if (value === undefined) return null;
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") {
    if (!textFits(value, limitBytes)) throw tooLarge(what, limitBytes);
    return value;
  }
  const text = encodeWithin(value, what, limitBytes);
  return text === undefined ? null : (JSON.parse(text) as Json);
}

/** Throws, as `toJson` does, unless an event can hold a value that a caller gives. */
export function checkInput(value: unknown, what: string): void {
  if (typeof value === "string") toJson(value, what, INPUT_LIMIT_BYTES);
  else encodeWithin(value, what, INPUT_LIMIT_BYTES);
}

/** Throws `too_large` for a text that does not fit into an event. */
export function checkText(text: string): void {
  if (!textFits(text, EVENT_LIMIT_BYTES)) throw tooLarge("a text", EVENT_LIMIT_BYTES);
}

/** Throws unless a name that agent code gives, of an effect or a file, is a string that an event can hold. */
export function checkName(name: string, what: string): void {
  if (typeof name !== "string") throw new TypeError(`${what} is a string`);
  if (name.length > NAME_LENGTH) {
    throw new AgentError(
      "too_large",
      `${what} has ${name.length} characters; at most ${NAME_LENGTH} are allowed`,
    );
  }
}

const NAME_LENGTH = 1_000;

/** The size of a text in UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Cuts a text to a limit and adds a note that it was cut. */
export function cut(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes || (text.length <= limitBytes && byteLength(text) <= limitBytes))
    return text;
  const note = `… [cut, ${text.length} characters in all]`;
  const bytes = encoder.encode(text.slice(0, limitBytes)).subarray(0, limitBytes - byteLength(note));
  // Removes the replacement character of a character that was cut in two.
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/u, "") + note;
}

const encoder = new TextEncoder();

/**
 * Encodes a value as JSON; `undefined` where JSON has nothing for it. Throws `too_large` as soon as the text is known
 * to be too long, so a large value costs no more memory than the limit, and `unprocessable` for what JSON cannot hold.
 */
function encodeWithin(value: unknown, what: string, limitBytes: number): string | undefined {
  const size = sizeOf(value, limitBytes);
  if (size === "large") throw tooLarge(what, limitBytes);
  let text: string | undefined;
  try {
    text = size === "small" ? JSON.stringify(value) : JSON.stringify(value, countingTo(limitBytes));
  } catch (cause) {
    if (cause === TOO_LARGE) throw tooLarge(what, limitBytes);
    throw new AgentError("unprocessable", `${what} is not a JSON value`, { cause });
  }
  if (size !== "small" && text !== undefined && byteLength(text) > limitBytes)
    throw tooLarge(what, limitBytes);
  return text;
}

function tooLarge(what: string, limitBytes: number): AgentError {
  return new AgentError("too_large", `${what} is larger than ${limitBytes} bytes`);
}

/** JSON writes a UTF-16 unit in one byte at least and in six at most, so few texts are encoded to be measured. */
function textFits(text: string, limitBytes: number): boolean {
  if (text.length * 6 + 2 <= limitBytes) return true;
  return text.length + 2 <= limitBytes && byteLength(JSON.stringify(text)) <= limitBytes;
}

/** How deep a value is looked into before it is encoded. */
const LOOK_DEPTH = 32;

/**
 * Estimates the size of a value as JSON without encoding it: `small` is surely within the limit, `large` surely above
 * it.
 */
function sizeOf(value: unknown, limitBytes: number): "small" | "large" | "unknown" {
  if (limitBytes === Infinity) return "small";
  if (isLongView(value, limitBytes)) return "large";
  try {
    return mostBytes(value, limitBytes, LOOK_DEPTH) <= limitBytes ? "small" : "unknown";
  } catch {
    // A getter or a proxy of agent code throws; so it will when the value is encoded.
    return "unknown";
  }
}

/** Bytes and numbers in one piece of memory, of which JSON would make a text for each. */
function isLongView(value: unknown, limit: number): boolean {
  return (
    ArrayBuffer.isView(value) &&
    (value as Partial<Uint8Array>).length !== undefined &&
    (value as Uint8Array).length > limit
  );
}

/**
 * The most bytes that a value can take as JSON. Returns any number above the limit if it can be more than the limit, or
 * if that is unknown.
 */
function mostBytes(value: unknown, limitBytes: number, depth: number): number {
  if (typeof value === "string") return value.length * 6 + 3;
  if (typeof value !== "object" || value === null) return MOST_NUMBER_BYTES;
  if (depth === 0 || typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return Infinity;
  let bytes = 3;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && bytes <= limitBytes; at += 1)
      bytes += mostBytes(value[at], limitBytes, depth - 1);
    return bytes;
  }
  for (const key in value) {
    if (bytes > limitBytes) return bytes;
    bytes += key.length * 6 + 4 + mostBytes((value as JsonObject)[key], limitBytes, depth - 1);
  }
  return bytes;
}

const MOST_NUMBER_BYTES = 26;

/** Stops an encoding that is too long. */
const TOO_LARGE: unknown = Symbol("too large");

/** Counts the least that each value takes while it is encoded, and throws `TOO_LARGE` when that is too much. */
function countingTo(limitBytes: number): (this: unknown, key: string, value: unknown) => unknown {
  let bytes = 0;
  return function count(key, value) {
    if (Array.isArray(this)) bytes += 2;
    else if (value !== undefined && typeof value !== "function") bytes += key.length + 2;
    if (typeof value === "string") bytes += value.length;
    // oxlint-disable-next-line only-throw-error -- it is caught above, and tells itself from errors of agent code
    if (bytes > limitBytes || isLongView(value, limitBytes)) throw TOO_LARGE;
    return value;
  };
}
