import { encodeText, toTimestamp } from "./encode.ts";
import type { Speaker, TextFields } from "./encode.ts";

/**
 * Successive TextOutput events of one speaker, in the form in which they are recorded, stored and read. Most events are
 * texts, and those of one speaker differ only in the id, the time and the content. So a filter is asked once for all of
 * them, and each is encoded when a reader gets it.
 */
export interface Texts {
  readonly speaker: Speaker;
  /** The fields after the content, encoded; empty if there are none. */
  readonly ending: string;
  /** The id of the first text. */
  readonly first: number;
  /** The time from which those of the texts are counted, in milliseconds since 1970. */
  readonly at: number;
  /** For each text the milliseconds since `at`, and its content. */
  readonly said: readonly (number | string)[];
}

/** Successive events of a run: encoded ones, and texts. */
export type LoggedEvents = readonly (string | Texts)[];

/** The number of events. */
export function countEvents(events: LoggedEvents): number {
  let count = 0;
  for (const item of events) count += typeof item === "string" ? 1 : countTexts(item);
  return count;
}

/** Encodes events: each is one JSON object without a line break. */
export function toEncoded(events: LoggedEvents): readonly string[] {
  if (events.every((item) => typeof item === "string")) return events;
  return events.flatMap((item) => (typeof item === "string" ? item : encodeTexts(item)));
}

/** The number of texts. */
export function countTexts({ said }: Texts): number {
  return said.length / 2;
}

/** Encodes each text as an event. */
export function encodeTexts(texts: Texts): readonly string[] {
  return Array.from({ length: countTexts(texts) }, (_, index) => encodeTextAt(texts, index));
}

/** Encodes one of the texts. */
export function encodeTextAt(texts: Texts, index: number): string {
  const { speaker, ending, first, at, said } = texts;
  const time = toTimestamp(at + Number(said[2 * index]));
  return encodeText(speaker, first + index, time, contentAt(texts, index), ending);
}

export function contentAt({ said }: Texts, index: number): string {
  return said[2 * index + 1] as string;
}

/** Some of the texts, from an index on. */
export function sliceTexts(texts: Texts, start: number, count: number): Texts {
  const { speaker, ending, first, at, said } = texts;
  return { speaker, ending, first: first + start, at, said: said.slice(2 * start, 2 * (start + count)) };
}

/** The fields of the texts after the content. */
export function fieldsOf({ ending }: Texts): TextFields {
  return ending === "" ? NO_FIELDS : (JSON.parse(`{${ending.slice(1)}}`) as TextFields);
}

/** Texts that others join. */
export interface GrowingTexts extends Texts {
  readonly said: (number | string)[];
}

/** Adds texts to those before them, if they are of the same speaker. Returns whether it did. */
export function joinTexts(last: GrowingTexts, { speaker, ending, at, said }: Texts): boolean {
  if (last.speaker !== speaker || last.ending !== ending || last.said.length >= JOINED) return false;
  for (let index = 0; index < said.length; index += 2)
    last.said.push(at - last.at + Number(said[index]), said[index + 1] as string);
  return true;
}

/** The length of `said` from which no others join: 32 texts, with a time and a content each. */
const JOINED = 64;

const NO_FIELDS: TextFields = {};
