import { contentAt, countTexts, encodeTextAt, encodeTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { utf8Length } from "./utf8.ts";

/** A part of successive events. */
export interface PageRange {
  /** Leaves out so many events at the start. Default 0. */
  readonly skip?: number;
  /** Maximum number of events. */
  readonly limit?: number | undefined;
  /** Maximum size of the encoded events. */
  readonly limitBytes?: number | undefined;
}

/** The events of a range; at least `least`, also if they do not fit. */
export function firstOf(
  events: LoggedEvents,
  { skip = 0, limit = Infinity, limitBytes = Infinity }: PageRange,
  least = 1,
): LoggedEvents {
  const picked: (string | Texts)[] = [];
  let left = skip;
  let room = Math.max(limit, 0);
  for (const item of events) {
    if (room === 0) break;
    const count = typeof item === "string" ? 1 : countTexts(item);
    if (left >= count) {
      left -= count;
      continue;
    }
    const taken = Math.min(count - left, room);
    picked.push(typeof item === "string" || taken === count ? item : sliceTexts(item, left, taken));
    left = 0;
    room -= taken;
  }
  return limitBytes === Infinity || surelyFit(picked, limitBytes) ? picked : cutAt(picked, limitBytes, least);
}

/** The size of events when they are encoded. */
export function sizeOf(events: LoggedEvents): number {
  let bytes = 0;
  for (const item of events) {
    if (typeof item === "string") bytes += utf8Length(item);
    else for (const text of encodeTexts(item)) bytes += utf8Length(text);
  }
  return bytes;
}

/** Whether events certainly fit into a number of bytes, judged only by their lengths. */
function surelyFit(events: LoggedEvents, limitBytes: number): boolean {
  let bytes = 0;
  for (const item of events) {
    // A UTF-16 code unit takes at most three bytes, and six as an escape in JSON.
    if (typeof item === "string") bytes += 3 * item.length;
    else for (let index = 0; index < countTexts(item); index += 1) bytes += mostBytes(item, index);
    if (bytes > limitBytes) return false;
  }
  return true;
}

function mostBytes(texts: Texts, index: number): number {
  const { prefix, middle, suffix } = texts.speaker;
  const shared = prefix.length + middle.length + suffix.length + texts.ending.length + OTHER_CHARACTERS;
  return 3 * shared + 6 * contentAt(texts, index).length;
}

/** More than the id, the type, the role, the time and the punctuation of a TextOutput have. */
const OTHER_CHARACTERS = 128;

/** The first events that fit into a number of bytes. */
function cutAt(events: LoggedEvents, limitBytes: number, least: number): LoggedEvents {
  const fitting: (string | Texts)[] = [];
  let count = 0;
  let bytes = 0;
  const fits = (text: string): boolean => {
    bytes += utf8Length(text);
    count += 1;
    return bytes <= limitBytes || count <= least;
  };
  for (const item of events) {
    if (typeof item === "string") {
      if (!fits(item)) break;
      fitting.push(item);
      continue;
    }
    let taken = 0;
    while (taken < countTexts(item) && fits(encodeTextAt(item, taken))) taken += 1;
    if (taken > 0) fitting.push(sliceTexts(item, 0, taken));
    if (taken < countTexts(item)) break;
  }
  return fitting;
}
