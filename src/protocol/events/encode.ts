import { roleOf } from "./roles.ts";
import type { EventBody, EventType } from "./event-body.ts";
import type { Event, EventAddress } from "./events.ts";
import type { RunId } from "../ids.ts";

/** The part of the event address that all events of one speaker share. */
export type SpeakerAddress = Omit<EventAddress, "id" | "role" | "run_id" | "ts"> & {
  /** `null` only for the answer to the configuration of an agent. */
  readonly run_id: RunId | null;
};

/**
 * One agent in one turn, with the constant parts of its encoded events. A log in memory keeps it with its texts, so it
 * has the parts of a TextOutput, the most frequent type, and cuts those of other types from them.
 */
export class Speaker {
  readonly address: SpeakerAddress;
  /** From after the id up to the time, for TextOutput. */
  readonly textOutput: string;
  /** From after the time up to the content, for TextOutput. */
  readonly content: string;
  /** Where the type begins in `textOutput`. */
  readonly #typeAt: number;

  constructor(address: SpeakerAddress) {
    const { run_id, request_id, agent, depth, parent_call_id } = address;
    const names = `"run_id":${JSON.stringify(run_id)},"request_id":${JSON.stringify(request_id)}`;
    const prefix = `,${names},"agent":${JSON.stringify(agent)},"type":"`;
    const call = parent_call_id === undefined ? "" : `,"parent_call_id":"${parent_call_id}"`;
    this.address = address;
    this.#typeAt = prefix.length;
    // `join` gives a flat string; a concatenation is a tree that V8 would flatten for every event.
    this.textOutput = [prefix, TEXT_OUTPUT, '","depth":', depth, ',"ts":"'].join("");
    this.content = call === "" ? PLAIN_CONTENT : ['"', call, ',"content":'].join("");
  }

  /** From after the id up to the type. */
  get prefix(): string {
    return this.textOutput.slice(0, this.#typeAt);
  }

  /** From after the role up to the time. */
  get middle(): string {
    return this.textOutput.slice(this.#typeAt + TEXT_OUTPUT.length);
  }

  /** From after the time up to the body. */
  get suffix(): string {
    return this.content.slice(0, 1 - PLAIN_CONTENT.length);
  }
}

/** Prepares the constant parts of the events of one agent in one turn, at one depth and under one call. */
export function createSpeaker(address: SpeakerAddress): Speaker {
  return new Speaker(address);
}

/**
 * Encodes an event as one JSON object without a line break. The keys of the address come first in a fixed
 * order, which `idOf`, `typeOf` and the other readers rely on. The keys of the body follow, and then
 * `wait_id` in a WaitForInput.
 */
export function encodeEvent(speaker: Speaker, id: number, ts: string, body: EventBody): string {
  if (body.type === "TextOutput") return encodeText(speaker, id, ts, body.content, toEnding(body));
  const { type } = body;
  const head = `{"id":${id}${speaker.prefix}${typeAndRole(type)}${speaker.middle}${ts}${speaker.suffix}`;
  const fields = encodeFields(body);
  return type === "WaitForInput" ? `${head}${fields.slice(0, -1)},"wait_id":${id}}` : `${head}${fields}`;
}

/** The fields of a body behind its type and the end of the object, encoded. */
function encodeFields(body: EventBody): string {
  const { type } = body;
  const own = JSON.stringify(body);
  const start = `{"type":"${type}"`;
  // A body without its type would have to be copied, and almost every body begins with its type.
  if (own.startsWith(start)) return own.slice(start.length);
  const { type: _, ...fields } = body;
  return encodeFields({ type, ...fields } as EventBody);
}

/** Encodes a TextOutput by hand, because most events are texts: 0.25 µs, half the time of JSON.stringify. */
export function encodeText(
  speaker: Speaker,
  id: number,
  ts: string,
  content: string,
  ending: string,
): string {
  return `{"id":${id}${speaker.textOutput}${ts}${speaker.content}${JSON.stringify(content)}${ending}}`;
}

/** The fields of a TextOutput after its content, encoded; empty if it has none. */
export function toEnding({ branch, call_id, attempt }: TextFields): string {
  let ending = "";
  if (branch !== undefined) ending += `,"branch":${JSON.stringify(branch)}`;
  if (call_id !== undefined) ending += `,"call_id":${JSON.stringify(call_id)}`;
  if (attempt !== undefined) ending += `,"attempt":${attempt}`;
  return ending;
}

/** The fields of a TextOutput after its content. */
export type TextFields = Omit<EventBody & { readonly type: "TextOutput" }, "type" | "content">;

/**
 * Formats a time in milliseconds since 1970 as in events. The text of the last second is cached up to its milliseconds, because
 * formatting a date costs more than an event.
 */
export function toTimestamp(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) {
    lastText = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
    lastSecond = second;
  }
  return `${lastText}${MILLISECONDS[Math.floor(ms - second * 1_000)]}`;
}

let lastSecond = Number.NaN;
let lastText = "";

const MILLISECONDS: readonly string[] = Array.from(
  { length: 1_000 },
  (_, ms) => `${String(ms).padStart(3, "0")}Z`,
);

export function idOf(text: string): number {
  let id = 0;
  for (let at = '{"id":'.length; ; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    // A comma is below the digits; after the end of the text the difference is NaN.
    if (!(digit >= 0)) return id;
    id = id * 10 + digit;
  }
}

/** The run id of an encoded event; `null` for the answer to the configuration of an agent. */
export function runIdOf(text: string): string | null {
  return idAfter(text, RUN_ID);
}

/** The request id of an encoded event; `null` for an event outside any turn. */
export function requestIdOf(text: string): string | null {
  return idAfter(text, REQUEST_ID);
}

/** Makes a predicate for the encoded events of a request in a run. */
export function ofRequest(runId: string, requestId: string): (text: string) => boolean {
  const address = `,"run_id":${JSON.stringify(runId)},"request_id":${JSON.stringify(requestId)},`;
  // Comparing a slice is three times faster than `startsWith`, which compares character by character.
  return (text) => {
    const at = text.indexOf(",");
    return text.slice(at, at + address.length) === address;
  };
}

/** The agent name of an encoded event. */
export function agentOf(text: string): string {
  const at = text.indexOf(AGENT) + AGENT.length;
  const end = text.indexOf(TYPE, at);
  const name = text.slice(at + 1, end - 1);
  // Names of local agents need no escapes; a remote agent can have any name.
  return name.includes("\\") ? String(JSON.parse(text.slice(at, end))) : name;
}

export function typeOf(text: string): EventType {
  const at = text.indexOf(TYPE) + TYPE.length;
  return text.slice(at, text.indexOf('"', at)) as EventType;
}

/**
 * The content of an encoded TextOutput at depth 0 without optional fields; `undefined` for any other event.
 */
function plainTextOf(text: string): string | undefined {
  const at = text.indexOf(CONTENT) + CONTENT.length;
  // Inside a JSON string a quote is escaped, so this sequence means that another field follows.
  if (at < CONTENT.length || text.includes(NEXT_FIELD, at) || text.includes(PARENT)) return undefined;
  // Parsed, because a slice would keep the whole page in memory.
  return JSON.parse(text.slice(at, -1)) as string;
}

/**
 * Decodes the events of a log, in their order. Most of them are texts of one speaker; of such a text only what differs
 * from the text before it is parsed, which takes a third of the time of JSON.parse.
 */
export class EventDecoder {
  /** The newest text at depth 0, and its encoded form between the id and the time. */
  #last: { readonly event: TextEvent; readonly address: string } | undefined;

  decode(text: string): Event {
    return this.#next(text) ?? this.#parse(text);
  }

  /** The event, if it is a text of the speaker of the last one without optional fields. */
  #next(text: string): TextEvent | undefined {
    if (this.#last === undefined) return undefined;
    const { event, address } = this.#last;
    const start = text.indexOf(",");
    const timeAt = start + address.length;
    const contentAt = timeAt + event.ts.length + PLAIN_CONTENT.length;
    if (text.slice(start, timeAt) !== address) return undefined;
    if (text.slice(contentAt - PLAIN_CONTENT.length, contentAt) !== PLAIN_CONTENT) return undefined;
    if (text.includes(NEXT_FIELD, contentAt)) return undefined;
    const { run_id, request_id, agent, type, role, depth } = event;
    const time = text.slice(timeAt, contentAt - PLAIN_CONTENT.length);
    // Parsed, because a slice would keep the whole page in memory.
    const ts = time === event.ts ? event.ts : (JSON.parse(`"${time}"`) as string);
    const content = JSON.parse(text.slice(contentAt, -1)) as string;
    return { id: idOf(text), run_id, request_id, agent, type, role, depth, ts, content };
  }

  #parse(text: string): Event {
    const event = JSON.parse(text) as Event;
    if (event.type === "TextOutput" && plainTextOf(text) !== undefined) {
      const address = text.slice(text.indexOf(","), text.indexOf(TIME) + TIME.length);
      // Joined, because a slice would keep the whole page in memory.
      this.#last = { event, address: Array.from(address).join("") };
    }
    return event;
  }
}

type TextEvent = Extract<Event, { readonly type: "TextOutput" }>;

export function depthOf(text: string): number {
  const at = text.indexOf(DEPTH) + DEPTH.length;
  return Number(text.slice(at, text.indexOf(",", at)));
}

// The first occurrence of each of these is the key itself: inside a JSON string a quote is escaped, so no
// value contains a comma followed by a quote and a name.
const RUN_ID = ',"run_id":';
const REQUEST_ID = ',"request_id":';
const AGENT = ',"agent":';
const TYPE = ',"type":"';
const DEPTH = ',"depth":';
const TIME = ',"ts":"';
const PARENT = ',"parent_call_id":';
const CONTENT = ',"content":';
const NEXT_FIELD = '","';
const QUOTE = 34;

function idAfter(text: string, key: string): string | null {
  const at = text.indexOf(key) + key.length;
  return text.charCodeAt(at) === QUOTE ? text.slice(at + 1, text.indexOf('"', at + 1)) : null;
}

function typeAndRole(type: EventType): string {
  return `${type}","role":"${roleOf(type)}`;
}

const TEXT_OUTPUT = typeAndRole("TextOutput");

/** What is between the time and the content of a TextOutput at depth 0. */
const PLAIN_CONTENT = '","content":';
