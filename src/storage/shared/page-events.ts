import { contentAt, countTexts, encodeTextAt, sliceTexts } from "../../protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { countOf, unpack } from "./packed-texts.ts";
import type { KeptEvents } from "./packed-texts.ts";

/** A part of successive events. */
interface PageRange {
  /** Leaves out so many events at the start. Default 0. */
  readonly skip?: number;
  /** Maximum number of events. */
  readonly limit?: number | undefined;
  /** Maximum size of the encoded events. */
  readonly limitBytes?: number | undefined;
}

/** The events of a range; at least `least`, also if they do not fit. */
export function firstOf(
  events: KeptEvents,
  { skip = 0, limit = Infinity, limitBytes = Infinity }: PageRange,
  least = 1,
): LoggedEvents {
  const picked: (string | Texts)[] = [];
  let left = skip;
  let room = Math.max(limit, 0);
  for (const item of events) {
    if (room === 0) break;
    const count = countOf(item);
    if (left >= count) {
      left -= count;
      continue;
    }
    const taken = Math.min(count - left, room);
    if (typeof item === "string") picked.push(item);
    else picked.push(taken === count ? unpack(item) : sliceTexts(unpack(item), left, taken));
    left = 0;
    room -= taken;
  }
  return limitBytes === Infinity || surelyFit(picked, limitBytes) ? picked : cutAt(picked, limitBytes, least);
}

/** The size of events when they are encoded. */
export function sizeOf(events: LoggedEvents): number {
  let bytes = 0;
  for (const item of events) {
    if (typeof item === "string") {
      bytes += utf8Length(item);
      continue;
    }
    const shared = sharedBytes(item);
    for (let index = 0; index < countTexts(item); index += 1) bytes += shared + ownBytes(item, index);
  }
  return bytes;
}

/** The bytes that all texts have, as encoded events: all except the id and the content. */
function sharedBytes(texts: Texts): number {
  return utf8Length(encodeTextAt(texts, 0)) - ownBytes(texts, 0);
}

function ownBytes(texts: Texts, index: number): number {
  return String(texts.first + index).length + jsonLength(contentAt(texts, index));
}

/** Whether events certainly fit into a number of bytes, judged only by their lengths. */
function surelyFit(events: LoggedEvents, limitBytes: number): boolean {
  let bytes = 0;
  for (const item of events) {
    // A UTF-16 code unit takes at most three bytes, and six as an escape in JSON.
    if (typeof item === "string") bytes += 3 * item.length;
    else {
      const { textOutput, content } = item.speaker;
      const shared = 3 * (textOutput.length + content.length + item.ending.length) + OTHER_BYTES;
      for (let index = 0; index < countTexts(item); index += 1)
        bytes += shared + 6 * contentAt(item, index).length;
    }
    if (bytes > limitBytes) return false;
  }
  return true;
}

/** More than the id, the time and the punctuation of an encoded text have. */
const OTHER_BYTES = 96;

/** The first events that fit into a number of bytes. */
function cutAt(events: LoggedEvents, limitBytes: number, least: number): LoggedEvents {
  const fitting: (string | Texts)[] = [];
  let count = 0;
  let bytes = 0;
  const fits = (added: number): boolean => {
    bytes += added;
    count += 1;
    return bytes <= limitBytes || count <= least;
  };
  for (const item of events) {
    if (typeof item === "string") {
      if (!fits(utf8Length(item))) break;
      fitting.push(item);
      continue;
    }
    const shared = sharedBytes(item);
    let taken = 0;
    while (taken < countTexts(item) && fits(shared + ownBytes(item, taken))) taken += 1;
    if (taken > 0) fitting.push(sliceTexts(item, 0, taken));
    if (taken < countTexts(item)) break;
  }
  return fitting;
}

/** The size of a text in UTF-8. */
function utf8Length(text: string): number {
  let bytes = 0;
  let rest = text;
  for (;;) {
    // Ten times faster than a loop over the characters, because the engine encodes many of them at once.
    const { read, written } = encoder.encodeInto(rest, encoded);
    bytes += written;
    if (read === rest.length) return bytes;
    rest = rest.slice(read);
  }
}

const encoder = new TextEncoder();

/** A part of a text while it is measured. */
const encoded = new Uint8Array(16_384);

/** The size in UTF-8 of a text as JSON. */
function jsonLength(text: string): number {
  let bytes = 2;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 0x20 && code < 0x80) bytes += code === QUOTE || code === BACKSLASH ? 2 : 1;
    else if (code < 0x20) bytes += SHORT_ESCAPES.includes(text.charAt(index)) ? 2 : ESCAPE;
    else if (code < 0x800) bytes += 2;
    else if (code < 0xd800 || code > 0xdfff) bytes += 3;
    else if (text.codePointAt(index) === code) bytes += ESCAPE;
    else {
      // A surrogate pair; JSON escapes one that is alone.
      bytes += 4;
      index += 1;
    }
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_ESCAPES = "\b\t\n\f\r";
/** The length of an escape with the code of a character. */
const ESCAPE = 6;
