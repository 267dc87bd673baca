import { AgentError } from "../../errors.ts";
import type { Clock } from "./clock.ts";
import { SseReader } from "./sse-reader.ts";
import type { SseFrame } from "./sse-reader.ts";
import { chunksOf } from "./wire.ts";
import type { OpenReply, Wire } from "./wire.ts";

/** An event as it comes from a server; nothing but its id and type has been looked at. */
export interface WireEvent {
  readonly id: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** How long a stream is held on to. */
export interface FollowLimits {
  /** A connection without a whole frame or heartbeat for so long is given up for another. Default 45 s. */
  readonly idleMs: number;
  /** Ends with an error when the server could not be reached for so long. Default 2 min. */
  readonly unreachableMs: number;
  /** Ends with an error when no event came for so long, whatever else did. Default: never. */
  readonly silenceMs: number;
  /** The largest event, in bytes. Default 1 Mi. */
  readonly eventBytes: number;
  /** Ends with an error after so many events. Default: never. */
  readonly events: number;
  /** Ends with an error after so many characters of events. Default: never. */
  readonly characters: number;
}

/** What to follow, and from where. */
export interface Followed {
  readonly path: string;
  /** Sent until there is an id to come back with. */
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The id of the newest event that is known; those up to it are left out. */
  readonly after?: number | undefined;
  readonly limits: FollowLimits;
  readonly signal?: AbortSignal | undefined;
  /** How many waits are open that the stream has told of. */
  openWaits(): number;
  /**
   * Asks how the request stands, while a wait is open: a server ends a stream that has told of the last wait, but
   * has no reason to end one that began behind it. Empty where nobody knows.
   */
  standing(): Promise<Standing>;
}

/** How a request stands on its server. */
export interface Standing {
  readonly status?: "running" | "waiting" | "completed";
  readonly lastEventId?: number;
}

/** How far a stream was followed. */
export interface Place {
  /** The newest event. */
  after: number;
  /** When it came. */
  heardAt: number;
  /** What the server calls the place, which may be past events that it hides. */
  lastEventId?: string;
  /** Since when nothing was heard from the server at all. */
  downSince?: number;
  /** How much came. */
  events: number;
  characters: number;
}

/** Opens a connection; `undefined` when nothing will ever come. */
export async function connect(
  wire: Wire,
  { path, query, signal, limits }: Followed,
  place: Place,
): Promise<OpenReply | undefined> {
  const { lastEventId = place.after < 0 ? undefined : String(place.after) } = place;
  const reply = await wire.open("GET", path, {
    query: { stream: true, ...(lastEventId === undefined && query) },
    headers: {
      accept: "text/event-stream",
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    signal,
    timeoutMs: limits.idleMs,
  });
  const { status, headers } = reply.response;
  if (status === 204) {
    reply.close();
    return undefined;
  }
  if (headers.get("content-type")?.startsWith("text/event-stream") === true) return reply;
  reply.close();
  throw new AgentError(
    "call_failed",
    `${wire.subject} answers with something that is not a stream of events`,
  );
}

/** Whether the request is known to do nothing but wait for an answer, and to have nothing more to tell. */
export async function isParked({ openWaits, standing }: Followed, { after }: Place): Promise<boolean> {
  if (openWaits() === 0) return false;
  const { status, lastEventId = after } = await standing();
  return status === "waiting" && lastEventId <= after;
}

/** How a connection ended: because the request waits, or by itself, perhaps with a word on when to come back. */
export type End = "parked" | { readonly retryMs: number | undefined };

/** Reads one connection up to its end. */
export async function* read(
  wire: Wire,
  { response, close }: OpenReply,
  place: Place,
  followed: Followed,
): AsyncGenerator<readonly WireEvent[], End> {
  const { limits } = followed;
  const { clock, subject } = wire;
  const frames = new SseReader(limits.eventBytes);
  const text = new TextDecoder();
  const chunks = chunksOf(response);
  let aliveAt = clock.monotonic();
  let lookMs = LOOK_MS;
  let retryMs: number | undefined;
  let isFirst = true;
  let newest = place.after;
  try {
    let next: ReturnType<typeof chunks.next> | undefined;
    for (;;) {
      next ??= chunks.next();
      // Whoever hangs up does not wait for it any more.
      next.catch(() => {});
      const now = clock.monotonic();
      const leftMs = Math.max(Math.min(aliveAt + limits.idleMs, place.heardAt + limits.silenceMs) - now, 0);
      const waitMs = followed.openWaits() > 0 ? Math.min(leftMs, lookMs) : leftMs;
      const chunk = await within(clock, waitMs, next);
      if (chunk === undefined) {
        if (leftMs <= waitMs) throw idle(subject, limits);
        if (await isParked(followed, place)) return "parked";
        lookMs *= 2;
        continue;
      }
      if (chunk.done === true) return { retryMs };
      next = undefined;
      const heard = frames.push(text.decode(chunk.value, { stream: true }));
      if (heard.length > 0) {
        aliveAt = clock.monotonic();
        delete place.downSince;
      }
      // A server may open a stream with it; only later it says that the stream is not over.
      const later = isFirst ? heard.slice(1) : heard;
      if (heard.length > 0) isFirst = false;
      retryMs = later.findLast((frame) => frame.retryMs !== undefined)?.retryMs ?? retryMs;
      const { events, fault, last } = take(subject, heard, { place, limits, newest });
      newest = last;
      if (place.events > limits.events || place.characters > limits.characters) throw endless(subject);
      if (events.length > 0) {
        lookMs = LOOK_MS;
        yield events;
      }
      if (fault) throw fault;
      if (events.length === 0) continue;
      // However long whoever reads may take with them, that is no silence.
      aliveAt = clock.monotonic();
      place.heardAt = aliveAt;
    }
  } catch (thrown) {
    throw wire.toFault(thrown);
  } finally {
    close();
  }
}

/** How long a stream with an open wait may be quiet before it is looked whether its end is due; doubled each time. */
const LOOK_MS = 50;

/** What was asked for, or `undefined` when the time is over first. */
async function within<Result>(clock: Clock, ms: number, asked: Promise<Result>): Promise<Result | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = clock.timer(ms, () => resolve(undefined));
  try {
    return await Promise.race([asked, promise]);
  } finally {
    stop();
  }
}

/** Where a connection is. */
interface Reading {
  readonly place: Place;
  readonly limits: FollowLimits;
  /** The id of the newest event that came over this connection. */
  readonly newest: number;
}

interface Taken {
  readonly events: readonly WireEvent[];
  readonly last: number;
  readonly fault?: AgentError;
}

/** The events that are new, in their order, up to the first thing that is none. */
function take(subject: string, frames: readonly SseFrame[], { place, limits, newest }: Reading): Taken {
  const events: WireEvent[] = [];
  let last = newest;
  for (const { data, id } of frames) {
    if (data !== undefined && isLarger(data, limits.eventBytes))
      throw new AgentError("too_large", `an event of the stream is larger than ${limits.eventBytes} bytes`);
    const event = data === undefined ? undefined : toEvent(subject, data, ordinalOf(id) ?? last + 1);
    if (event instanceof AgentError) return { events, last, fault: event };
    if (id !== undefined && SENDABLE.test(id)) place.lastEventId = id;
    if (event === undefined) continue;
    place.events += 1;
    place.characters += data?.length ?? 0;
    last = event.id;
    // A server that knows nothing of cursors begins again from the start.
    if (event.id <= place.after) continue;
    place.after = event.id;
    events.push(event);
  }
  return { events, last };
}

/** Whether a text takes more bytes, of which a character takes three at most. */
function isLarger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && new TextEncoder().encode(text).length > limitBytes;
}

/** What a header can carry. */
const SENDABLE = /^[\x21-\x7e]{1,256}$/;

/** The number that the id of a frame is. */
function ordinalOf(id: string | undefined): number | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

/** Reads an event; `place` is its id where it does not say. */
function toEvent(subject: string, data: string, place: number): WireEvent | AgentError {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    return new AgentError("call_failed", `${subject} sent something that is not JSON`, { cause });
  }
  if (isDraftedArtifact(value)) return { ...value, id: place, artifact_id: value.id };
  return isEvent(value) ? value : new AgentError("call_failed", `${subject} sent something that is no event`);
}

/** In the draft, the `id` of an ArtifactGenerated is the file's and hides the event's. */
function isDraftedArtifact(value: unknown): value is { readonly id: string; readonly type: string } {
  const { id, type } = (value ?? {}) as { readonly id?: unknown; readonly type?: unknown };
  return type === "ArtifactGenerated" && typeof id === "string";
}

function isEvent(value: unknown): value is WireEvent {
  if (typeof value !== "object" || value === null) return false;
  const { id, type } = value as Partial<WireEvent>;
  return Number.isSafeInteger(id) && (id as number) >= 0 && typeof type === "string";
}

function idle(subject: string, { idleMs }: FollowLimits): AgentError {
  return new AgentError("timeout", `${subject} has been silent for ${idleMs} ms`);
}

function endless(subject: string): AgentError {
  return new AgentError("too_large", `${subject} sends more events than are taken of one request`);
}
