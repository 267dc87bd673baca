import { Mismatch, check } from "./mismatch.ts";

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
export function textOf(events: readonly WireEvent[]): string {
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
