import { roleOf } from "./events.ts";
import type { EventAddress, EventBody, EventType } from "./events.ts";
import type { RunId } from "./ids.ts";

/** Where all events of one speaker stand: everything of their address that does not change from one to the next. */
export type SpeakerAddress = Omit<EventAddress, "id" | "role" | "run_id" | "ts"> & {
  /** `null` only for the answer to the configuration of an agent. */
  readonly run_id: RunId | null;
};

/** One agent in one turn, with the parts of its events' text that are always the same. */
export interface Speaker {
  /** From behind the id up to the type. */
  readonly prefix: string;
  /** From behind the role up to the time. */
  readonly middle: string;
  /** From behind the time up to the body. */
  readonly suffix: string;
  /** From behind the id up to the time, for the type that is by far the most frequent. */
  readonly textOutput: string;
  /** From behind the time up to the text, for the same. */
  readonly content: string;
}

/** Prepares the constant text of the events of one agent in one turn, at one depth and under one call. */
export function createSpeaker(address: SpeakerAddress): Speaker {
  const { run_id, request_id, agent, depth, parent_call_id } = address;
  const names = `"run_id":${JSON.stringify(run_id)},"request_id":${JSON.stringify(request_id)}`;
  const prefix = `,${names},"agent":${JSON.stringify(agent)},"type":"`;
  const middle = `","depth":${depth},"ts":"`;
  const call = parent_call_id === undefined ? "" : `,"parent_call_id":"${parent_call_id}"`;
  return {
    prefix,
    middle,
    suffix: `"${call}`,
    // Joined, and so in one piece: a concatenated text is a tree, to be walked again for every event.
    textOutput: [prefix, typeAndRole("TextOutput"), middle].join(""),
    content: ['"', call, ',"content":'].join(""),
  };
}

/**
 * Encodes an event as one JSON object without a line break. The keys of the address come first and in
 * a fixed order, which `idOf`, `typeOf` and the other readers rely on; the body's own follow, and
 * behind those of a WaitForInput its `wait_id`.
 */
export function encodeEvent(speaker: Speaker, id: number, ts: string, body: EventBody): string {
  if (body.type === "TextOutput") {
    // By hand because most events are texts: 0.25 µs, half of what JSON.stringify of the whole takes.
    const { content, branch, call_id, attempt } = body;
    let text = `{"id":${id}${speaker.textOutput}${ts}${speaker.content}${JSON.stringify(content)}`;
    if (branch !== undefined) text += `,"branch":${JSON.stringify(branch)}`;
    if (call_id !== undefined) text += `,"call_id":${JSON.stringify(call_id)}`;
    if (attempt !== undefined) text += `,"attempt":${attempt}`;
    return `${text}}`;
  }
  const { type, ...fields } = body;
  const head = `{"id":${id}${speaker.prefix}${typeAndRole(type)}${speaker.middle}${ts}${speaker.suffix}`;
  const own = JSON.stringify(fields);
  if (own === "{}") return `${head}}`;
  const wait = type === "WaitForInput" ? `,"wait_id":${id}` : "";
  return `${head},${own.slice(1, -1)}${wait}}`;
}

/** The id of an encoded event. */
export function idOf(text: string): number {
  let id = 0;
  for (let at = '{"id":'.length; ; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    // A comma lies below the digits; behind the end of the text the difference is NaN.
    if (!(digit >= 0)) return id;
    id = id * 10 + digit;
  }
}

/** The run of an encoded event, `null` for the answer to the configuration of an agent. */
export function runIdOf(text: string): string | null {
  return idAfter(text, RUN_ID);
}

/** The request of an encoded event, `null` for an event outside any turn. */
export function requestIdOf(text: string): string | null {
  return idAfter(text, REQUEST_ID);
}

/** Makes a test for whether an encoded event of a run belongs to a request. */
export function ofRequest(runId: string, requestId: string): (text: string) => boolean {
  const address = `,"run_id":${JSON.stringify(runId)},"request_id":${JSON.stringify(requestId)},`;
  // A slice compares three times faster than `startsWith`, which compares character by character.
  return (text) => {
    const at = text.indexOf(",");
    return text.slice(at, at + address.length) === address;
  };
}

/** The name of the agent that says an encoded event. */
export function agentOf(text: string): string {
  const at = text.indexOf(AGENT) + AGENT.length;
  const end = text.indexOf(TYPE, at);
  const name = text.slice(at + 1, end - 1);
  // Our own names need no escapes; an agent elsewhere may be called anything.
  return name.includes("\\") ? String(JSON.parse(text.slice(at, end))) : name;
}

/** The type of an encoded event. */
export function typeOf(text: string): EventType {
  const at = text.indexOf(TYPE) + TYPE.length;
  return text.slice(at, text.indexOf('"', at)) as EventType;
}

/** The text of an encoded TextOutput at depth 0 that has no fields beside it; `undefined` for any other. */
export function plainTextOf(text: string): string | undefined {
  const at = text.indexOf(CONTENT) + CONTENT.length;
  // Inside the text a quote has a backslash before it, so this is where another field begins.
  if (at < CONTENT.length || text.includes('","', at) || text.includes(PARENT)) return undefined;
  // Not a slice, which would hold on to all that was read with it.
  return JSON.parse(text.slice(at, -1)) as string;
}

/** The depth of an encoded event. */
export function depthOf(text: string): number {
  const at = text.indexOf(DEPTH) + DEPTH.length;
  return Number(text.slice(at, text.indexOf(",", at)));
}

// The first place where one of these stands is the key itself: inside a JSON string a quote has a
// backslash before it, so no value holds a comma followed by a quote and a name.
const RUN_ID = ',"run_id":';
const REQUEST_ID = ',"request_id":';
const AGENT = ',"agent":';
const TYPE = ',"type":"';
const DEPTH = ',"depth":';
const PARENT = ',"parent_call_id":';
const CONTENT = ',"content":';
const QUOTE = 34;

function idAfter(text: string, key: string): string | null {
  const at = text.indexOf(key) + key.length;
  return text.charCodeAt(at) === QUOTE ? text.slice(at + 1, text.indexOf('"', at + 1)) : null;
}

function typeAndRole(type: EventType): string {
  return `${type}","role":"${roleOf(type)}`;
}
