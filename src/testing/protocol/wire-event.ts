import { Mismatch, check, checkEqual } from "./mismatch.ts";

/** An event as received; only its id and type are checked. */
export interface WireEvent {
  readonly id: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Parses an event from its text, or from a JSON value. */
export function toEvent(source: unknown, asked: string): WireEvent {
  const value: unknown = typeof source === "string" ? parseJson(source, asked) : source;
  check(isEvent(value), `an event with an integer id and a type on ${asked}`, value);
  return value;
}

/** Parses a list of events, the answer of a poll. */
export function toEvents(value: unknown, asked: string): WireEvent[] {
  check(Array.isArray(value), `a JSON array of events on ${asked}`, value);
  return value.map((item: unknown) => toEvent(item, asked));
}

/** The events of one type. */
export function ofType(events: readonly WireEvent[], type: string): WireEvent[] {
  return events.filter((event) => event.type === type);
}

/** The only event of a type. */
export function only(events: readonly WireEvent[], type: string): WireEvent {
  const [first, ...others] = ofType(events, type);
  check(first !== undefined && others.length === 0, `exactly one ${type}`, events);
  return first;
}

/** The joined texts of the agent itself. */
export function spokenText(events: readonly WireEvent[]): string {
  return ofType(events, "TextOutput")
    .filter((event) => event.depth === 0)
    .map((event) => String(event.content))
    .join("");
}

/** Checks that ids increase by one from the first one. */
export function checkGapless(events: readonly WireEvent[], first: number): void {
  const gapless = events.every((event, index) => event.id === first + index);
  check(gapless, `ids that rise by one from ${first}`, events);
}

/** Checks that a complete turn has one start and one end, with nothing before or after. */
export function checkWholeTurn(events: readonly WireEvent[], reason?: string): WireEvent {
  const started = only(events, "RequestStarted");
  const completed = only(events, "RequestCompleted");
  check(events[0] === started, "RequestStarted as the first event", events);
  check(events.at(-1) === completed, "RequestCompleted as the last event", events);
  if (reason !== undefined) {
    check(completed.finish_reason === reason, `finish_reason ${reason}`, completed);
  }
  return completed;
}

/** Checks that each call has one end, and that all deeper events are between a call and its end. */
export function checkBrackets(events: readonly WireEvent[]): void {
  const ends = events.filter(({ type }) => type === "ToolResult" || type === "ToolError");
  const calls = ofType(events, "ToolCall");
  check(calls.length > 0, "a ToolCall", events);
  checkEqual(new Set(calls.map(({ tool_call_id }) => tool_call_id)).size, calls.length, "different call ids");
  const spans = calls.map((call) => {
    const [end, ...others] = ends.filter(({ tool_call_id }) => tool_call_id === call.tool_call_id);
    check(end !== undefined && others.length === 0, `one end of call ${String(call.tool_call_id)}`, events);
    check(end.id > call.id, "a call before its end", events);
    checkEqual([end.depth, end.agent], [call.depth, call.agent], "depth and agent of the end of a call");
    return { call, end };
  });
  checkEqual(ends.length, calls.length, "the number of ends of calls");
  for (const event of events) {
    if (event.depth === 0) continue;
    const span = spans.find(({ call }) => call.tool_call_id === event.parent_call_id);
    check(span !== undefined, "a parent_call_id that names a call", event);
    checkEqual(span.call.depth, Number(event.depth) - 1, `the depth of the call around event ${event.id}`);
    const within = span.call.id < event.id && event.id < span.end.id;
    check(within, `event ${event.id} between the call and its end`, events);
  }
}

function isEvent(value: unknown): value is WireEvent {
  if (typeof value !== "object" || value === null) return false;
  return "id" in value && Number.isInteger(value.id) && "type" in value && typeof value.type === "string";
}

function parseJson(text: string, asked: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Mismatch(`JSON on ${asked}`, text);
  }
}
