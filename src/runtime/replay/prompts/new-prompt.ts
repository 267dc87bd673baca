import type { CallId } from "../../../protocol/ids.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import { shortDigest } from "../../journal/digest.ts";
import type { PromptRecord } from "../../journal/records.ts";
import { cutToFit } from "./cut-to-fit.ts";
import type { PromptMark } from "./mark.ts";

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

/** The messages of an input, and its other fields. Only a model and its agent know the form of the input. */
function divide(input: Json): { readonly messages: readonly Json[]; readonly fields: JsonObject } {
  if (!isObject(input) || !Array.isArray(input["messages"]))
    return { messages: [], fields: { [WHOLE]: input } };
  const { messages, ...fields } = input as JsonObject & { readonly messages: readonly Json[] };
  return { messages, fields };
}

/** The digests of the first texts: of none, of one, of two … */
function chain(texts: readonly string[]): readonly string[] {
  const digests = [""];
  for (const text of texts) digests.push(shortDigest(`${digests.at(-1) ?? ""} ${text}`));
  return digests;
}

function digestIn({ frame }: PromptMark, name: string): string | undefined {
  return Object.hasOwn(frame, name) ? frame[name] : undefined;
}
