import type { Json, JsonObject } from "../../../protocol/json.ts";
import { byteLength, cut, EVENT_LIMIT_BYTES } from "../../journal/json-limits.ts";
import type { PromptRecord } from "../../journal/records.ts";

/** Maximum size of the messages and fields of one record. */
const PROMPT_LIMIT_BYTES = EVENT_LIMIT_BYTES;

/** The lengths to which the texts of a prompt that is too large are cut, in bytes. */
const CUTS: readonly number[] = [16_384, 1_024];

/**
 * The new part of a prompt, from the JSON of its messages and fields. Of a part that is too large, long texts are cut; if
 * that is not enough, it is recorded with the newest messages and without the older ones.
 */
export function cutToFit(
  messages: readonly string[],
  fields: readonly (readonly [name: string, json: string])[],
): Pick<PromptRecord, "messages" | "fields" | "cut"> {
  const given = toPart(messages, fields);
  if (fits(messages, fields)) return given;
  let part = given;
  for (const bytes of CUTS) {
    part = cutTexts(given as unknown as Json, bytes) as unknown as typeof given;
    if (byteLength(JSON.stringify(part)) <= PROMPT_LIMIT_BYTES) return { ...part, cut: true };
  }
  return { ...newest(part), cut: true };
}

interface Part {
  readonly messages: readonly Json[];
  readonly fields: JsonObject;
}

/** Values of their own, because the model gets the given ones and may change them. */
function toPart(messages: readonly string[], fields: readonly (readonly [string, string])[]): Part {
  return {
    messages: messages.map((text) => JSON.parse(text) as Json),
    fields: Object.fromEntries(fields.map(([name, text]) => [name, JSON.parse(text) as Json])),
  };
}

function fits(messages: readonly string[], fields: readonly (readonly [string, string])[]): boolean {
  const texts = [...messages, ...fields.map(([, text]) => text)];
  const units = texts.reduce((sum, text) => sum + text.length + 1, 0);
  if (units * 3 <= PROMPT_LIMIT_BYTES) return true;
  return units <= PROMPT_LIMIT_BYTES && byteLength(texts.join(",")) <= PROMPT_LIMIT_BYTES;
}

function cutTexts(value: Json, bytes: number): Json {
  if (typeof value === "string") return cut(value, bytes);
  if (Array.isArray(value)) return value.map((item: Json) => cutTexts(item, bytes));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, field]) => [key, cutTexts(field, bytes)]));
}

/** The fields that fit, then the newest messages that fit; `null` in place of each of the others. */
function newest({ messages, fields }: Part): Part {
  let left = PROMPT_LIMIT_BYTES;
  const kept = (value: Json): Json => {
    const bytes = byteLength(JSON.stringify(value));
    if (bytes > left) {
      left = Math.max(left - NULL_BYTES, 0);
      return null;
    }
    left -= bytes;
    return value;
  };
  const keptFields = Object.entries(fields).map(([name, field]): [string, Json] => [name, kept(field)]);
  return {
    fields: Object.fromEntries(keptFields),
    messages: messages.toReversed().map(kept).toReversed(),
  };
}

const NULL_BYTES = 5;
