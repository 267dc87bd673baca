import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { eventTypes } from "../../protocol/events/events.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { Parsed } from "../../protocol/requests/parse.ts";
import { parseCursor, parseFlag } from "../../protocol/requests/parse.ts";
import type { EventFilter } from "../../runtime/feeds.ts";
import type { AppEnv } from "./app-env.ts";

/** The query of routes that read events. */
export interface EventQuery {
  readonly stream: boolean;
  readonly follow: boolean;
  readonly since: number | undefined;
  /** How long a poll waits for a first event. */
  readonly timeoutMs: number;
  readonly consumer: string;
  readonly filter: EventFilter | undefined;
}

/** Parses the query of a route that reads events; `invalid_request` for an invalid value. */
export function parseEventQuery(query: URLSearchParams): EventQuery {
  return {
    stream: read(query, "stream", parseFlag) ?? false,
    follow: read(query, "follow", parseFlag) ?? false,
    since: read(query, "since", parseCursor),
    timeoutMs: Math.min(read(query, "timeout", parseCount) ?? 0, TIMEOUT_LIMIT_MS),
    consumer: read(query, "consumer", parseName) ?? "",
    filter: toFilter(query),
  };
}

/** The query of a request, including repeated fields. */
export function queryOf(c: Context<AppEnv>): URLSearchParams {
  const { url } = c.req;
  const at = url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : url.slice(at));
}

/**
 * The id of the last event that a reader has: from `Last-Event-ID`, or from `lastEventId` or `last_event_id`
 * in the query for readers that cannot send headers. The greatest counts; values that are not numbers are
 * ignored.
 */
export function lastEventId(c: Context<AppEnv>, query: URLSearchParams = queryOf(c)): number | undefined {
  const places = LAST_EVENT_ID.flatMap((name) => query.getAll(name));
  const given = [c.req.header("last-event-id") ?? "", ...places].map(parseCursor);
  const ids = given.flatMap((parsed) => (parsed.ok ? [parsed.value] : []));
  return ids.length === 0 ? undefined : Math.max(...ids);
}

const LAST_EVENT_ID = ["lastEventId", "last_event_id"];

/** The `Link` header of the next page: the same query from another position. */
export function nextPage(path: string, query: URLSearchParams, name: string, place: number | string): string {
  const next = new URLSearchParams(query);
  next.set(name, String(place));
  return `<${path}?${next.toString()}>; rel="next"`;
}

/** Takes any text. */
export function parseText(text: string): Parsed<string> {
  return { ok: true, value: text };
}

/** Parses the single value of a query field; `undefined` if it is absent. */
export function read<Value>(
  query: URLSearchParams,
  name: string,
  parse: (text: string) => Parsed<Value>,
): Value | undefined {
  const [text, ...others] = query.getAll(name);
  if (text === undefined) return undefined;
  const parsed = others.length > 0 ? refuse("may be given only once") : parse(text);
  if (parsed.ok) return parsed.value;
  const { message } = parsed;
  throw new AgentError("invalid_request", `${name} ${message}`, { issues: [{ path: name, message }] });
}

/** Parses a count. */
export function parseCount(text: string): Parsed<number> {
  return /^\d{1,9}$/.test(text) ? { ok: true, value: Number(text) } : refuse("must be a whole number");
}

/** Parses a name that a client chooses. */
export function parseName(text: string): Parsed<string> {
  if (text !== "" && text.length <= NAME_LIMIT) return { ok: true, value: text };
  return refuse(`must have 1 to ${NAME_LIMIT} characters`);
}

const TIMEOUT_LIMIT_MS = 60_000;
const NAME_LIMIT = 128;
const TYPES = new Set<string>(eventTypes);

function toFilter(query: URLSearchParams): EventFilter | undefined {
  const types = read(query, "types", parseTypes);
  const maxDepth = read(query, "max_depth", parseCount);
  const agent = read(query, "agent", parseName);
  if (types === undefined && maxDepth === undefined && agent === undefined) return undefined;
  return {
    ...(types && { types }),
    ...(maxDepth !== undefined && { maxDepth }),
    ...(agent !== undefined && { agent }),
  };
}

function parseTypes(text: string): Parsed<readonly EventType[]> {
  const types = text.split(",").filter((type) => type !== "");
  const unknown = types.find((type) => !TYPES.has(type));
  if (unknown === undefined) return { ok: true, value: types as EventType[] };
  return refuse(
    `has an unknown type ${JSON.stringify(unknown.slice(0, 64))}; known are ${eventTypes.join(", ")}`,
  );
}

function refuse(message: string): Parsed<never> {
  return { ok: false, message, issues: [] };
}

/** A time as ISO 8601, or a day. */
export function parseMoment(text: string): Parsed<number> {
  const time = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return { ok: true, value: time };
  return { ok: false, message: "must be a time such as 2030-01-31T12:00:00Z", issues: [] };
}
