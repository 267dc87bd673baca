import type { EventLog } from "../../ports/event-log.ts";
import type { RecordPosition } from "../../ports/log-batch.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import type { CallId, RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { shortDigest } from "../../shared/digest.ts";
import { EVENT_LIMIT_BYTES, byteLength, cut } from "../journal/json-limits.ts";
import type { PromptRecord } from "../journal/records.ts";
import { readRecord } from "./beginning.ts";
import { forEachEntry } from "./entries.ts";

/** What a completion is asked, and for whom. */
export interface AskedPrompt {
  readonly callId: CallId;
  readonly attempt: number;
  readonly agent: string;
  readonly actor: CallId;
  /** The input of the model. */
  readonly input: Json;
  /** Changes the JSON of a part before it is recorded, to hide secrets. */
  readonly hide: (json: string) => string;
}

/** A prompt that is made of so many records is recorded as a whole again, so that reading one takes few steps. */
const MOST_PARTS = 100;

/** The name of the field that is a whole input. */
export const WHOLE = "";

/**
 * The record of a prompt: what is new against the earlier one, if that one's messages are its first messages.
 * `undefined` if the log has the same prompt of the same completion.
 */
export function newPrompt(asked: AskedPrompt, earlier: PromptMark | undefined): PromptRecord | undefined {
  const { callId, attempt, agent, actor, hide } = asked;
  const { messages, fields } = divide(asked.input);
  const texts = messages.map((message) => hide(JSON.stringify(message)));
  const framed = Object.entries(fields).map(([name, field]) => [name, hide(JSON.stringify(field))] as const);
  const frame = Object.fromEntries(framed.map(([name, text]) => [name, shortDigest(text)]));
  const digests = chain(texts);
  const base = earlier !== undefined && earlier.parts < MOST_PARTS ? earlier : undefined;
  const keep = base !== undefined && digests[base.count] === base.digest ? base.count : 0;
  const changed = framed.filter(([name]) => base === undefined || digestIn(base, name) !== frame[name]);
  const isContinued = keep > 0 || changed.length < framed.length;
  const isSame =
    base?.callId === callId &&
    keep === texts.length &&
    keep === base.count &&
    changed.length === 0 &&
    Object.keys(base.frame).length === framed.length;
  if (isSame) return undefined;
  return {
    type: "Prompt",
    call_id: callId,
    attempt,
    agent,
    actor,
    ...(isContinued && base && { base: base.at }),
    parts: isContinued && base ? base.parts + 1 : 1,
    keep,
    ...cutToFit(texts.slice(keep), changed),
    frame,
    count: texts.length,
    digest: digests[texts.length] ?? "",
  };
}

/** What a prompt is known by: the digests of its fields, and of all its messages. */
export interface PromptDigest {
  readonly fields: { readonly [name: string]: string };
  readonly messages: string;
  /** The number of the messages. */
  readonly count: number;
}

/** The digest of an input of a model, which is equal to that of its record in the log. */
export function toPromptDigest(input: Json): PromptDigest {
  const { messages, fields } = divide(input);
  const digests = chain(messages.map((message) => JSON.stringify(message)));
  const framed = Object.entries(fields).map(
    ([name, field]) => [name, shortDigest(JSON.stringify(field))] as const,
  );
  return {
    fields: Object.fromEntries(framed),
    messages: digests.at(-1) ?? "",
    count: messages.length,
  };
}

/** The messages of an input, and its other fields. Only a model and its agent know the form of the input. */
function divide(input: Json): { readonly messages: readonly Json[]; readonly fields: JsonObject } {
  if (!isObject(input) || !Array.isArray(input["messages"]))
    return { messages: [], fields: { [WHOLE]: input } };
  const { messages, ...fields } = input as JsonObject & { readonly messages: readonly Json[] };
  return { messages, fields };
}

/** The digests of the first 0, 1, 2 … texts. */
function chain(texts: readonly string[]): readonly string[] {
  const digests = [""];
  for (const text of texts) digests.push(shortDigest(`${digests.at(-1) ?? ""} ${text}`));
  return digests;
}

function digestIn({ frame }: PromptMark, name: string): string | undefined {
  return Object.hasOwn(frame, name) ? frame[name] : undefined;
}

/** Maximum size of the messages and fields of one record. */
const PROMPT_LIMIT_BYTES = EVENT_LIMIT_BYTES;

/** The lengths to which the texts of a prompt that is too large are cut, in bytes. */
const CUTS: readonly number[] = [16_384, 1_024];

/**
 * The new part of a prompt, from the JSON of its messages and fields. Of a part that is too large, long texts are cut; if
 * that is not enough, it is recorded with the newest messages and without the older ones.
 */
function cutToFit(
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

/** Parses the JSON again, because the model gets the given values and may change them. */
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

/** How deep the texts of a prompt are looked for. What is deeper is left out, because it would need too much stack. */
const CUT_DEPTH = 256;

function cutTexts(value: Json, bytes: number, depth: number = CUT_DEPTH): Json {
  if (typeof value === "string") return cut(value, bytes);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((item: Json) => cutTexts(item, bytes, depth - 1));
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, field]) => [key, cutTexts(field, bytes, depth - 1)]));
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

/** A prompt as a whole. */
interface WholePrompt {
  readonly record: PromptRecord;
  readonly messages: readonly Json[];
  readonly fields: JsonObject;
  /** Whether texts of it were cut. */
  readonly cut: boolean;
}

/** Reads the newest prompt of a completion of a started request; `undefined` if the log has none. */
export async function readPrompt(
  log: EventLog,
  { runId, started, completed = Infinity }: RequestEntry,
  callId: CallId,
): Promise<WholePrompt | undefined> {
  if (started === undefined) return undefined;
  let found: PromptRecord | undefined;
  const range = { head: started, records: 0, end: completed };
  await forEachEntry(log, runId, range, {
    event() {},
    texts() {},
    record(record) {
      if (record.type === "Prompt" && record.call_id === callId) found = record;
    },
    base() {},
  });
  return found && assemble(log, runId, found);
}

/** Adds the parts of a prompt, from the whole one at the beginning. */
async function assemble(log: EventLog, runId: RunId, record: PromptRecord): Promise<WholePrompt | undefined> {
  const parts = [record];
  for (let { base } = record; base !== undefined; base = parts.at(-1)?.base) {
    const earlier = (await readRecord(log, runId, base)) as PromptRecord | undefined;
    if (earlier === undefined) return undefined;
    parts.push(earlier);
  }
  let messages: readonly Json[] = [];
  let fields: JsonObject = {};
  for (const part of parts.toReversed()) {
    const before = fields;
    messages = [...messages.slice(0, part.keep), ...part.messages];
    fields = Object.fromEntries(
      Object.keys(part.frame).map((name) => [
        name,
        (Object.hasOwn(part.fields, name) ? part.fields[name] : before[name]) ?? null,
      ]),
    );
  }
  return { record, messages, fields, cut: parts.some(({ cut }) => cut === true) };
}

/** A recorded prompt without its texts: enough to see what is new in the next one. */
export interface PromptMark {
  readonly callId: CallId;
  readonly agent: string;
  readonly actor: CallId;
  readonly at: RecordPosition;
  readonly parts: number;
  readonly frame: { readonly [name: string]: string };
  readonly count: number;
  readonly digest: string;
}

export function toPromptMark(record: PromptRecord, { n, after }: RecordPosition): PromptMark {
  const { call_id: callId, agent, actor, parts, frame, count, digest } = record;
  return { callId, agent, actor, at: { n, after }, parts, frame, count, digest };
}
