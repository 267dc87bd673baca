import { AgentError } from "../../errors.ts";
import type { Clock } from "./clock.ts";
import { SseReader } from "./sse-reader.ts";
import type { SseFrame } from "./sse-reader.ts";
import { chunksOf } from "./wire.ts";
import type { OpenReply, Wire } from "./wire.ts";

/** An event as received; only its id and type are checked. */
export interface WireEvent {
  readonly id: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Limits of a followed stream. */
export interface FollowLimits {
  /** Reconnects after this time without a whole frame or heartbeat. Default 45 s. */
  readonly idleMs: number;
  /** Fails when the server was unreachable for this time. Default 2 min. */
  readonly unreachableMs: number;
  /** Fails when no event came for this time, even if the connection is alive. Default: never. */
  readonly silenceMs: number;
  /** Maximum bytes of an event. Default 1 Mi. */
  readonly eventBytes: number;
  /** Fails after this many events. Default: never. */
  readonly events: number;
  /** Fails after this many characters of events. Default: never. */
  readonly characters: number;
}

/** What to follow, and from where. */
export interface FollowOptions {
  readonly path: string;
  /** Sent only until there is an event id to resume from. */
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The id of the newest known event; events up to it are skipped. */
  readonly after?: number | undefined;
  readonly limits: FollowLimits;
  readonly signal?: AbortSignal | undefined;
  /** The number of open waits in the stream so far. */
  openWaits(): number;
  /**
   * Returns the request's progress, while a wait is open: a server ends a stream that contained the last
   * wait, but not one that started after it. Empty if the progress is unknown.
   */
  progress(): Promise<RequestProgress>;
}

/** The progress of a request on its server. */
export interface RequestProgress {
  readonly status?: "running" | "waiting" | "completed";
  readonly lastEventId?: number;
}

/** The read position of a followed stream. */
export interface ReadPosition {
  /** The id of the newest event. */
  after: number;
  /** The time of the newest event. */
  heardAt: number;
  /** The position as the server gave it; it can be after events that the server filters out. */
  lastEventId?: string;
  /** The time since which the server is unreachable. */
  downSince?: number;
  /** The totals so far. */
  events: number;
  characters: number;
}

/** Opens a connection; `undefined` if no more events will ever come. */
export async function connect(
  wire: Wire,
  { path, query, signal, limits }: FollowOptions,
  position: ReadPosition,
): Promise<OpenReply | undefined> {
  const { lastEventId = position.after < 0 ? undefined : String(position.after) } = position;
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
  throw new AgentError("call_failed", `${wire.subject} did not answer with an event stream`);
}

/** Whether the request only waits for an answer and all its events are read. */
export async function isParked(
  { openWaits, progress }: FollowOptions,
  { after }: ReadPosition,
): Promise<boolean> {
  if (openWaits() === 0) return false;
  const { status, lastEventId = after } = await progress();
  return status === "waiting" && lastEventId <= after;
}

/**
 * How a connection ended: the request waits, or the connection closed, with an optional retry delay from the
 * server.
 */
export type End = "parked" | { readonly retryMs: number | undefined };

/** Reads one connection until it ends. */
export async function* read(
  wire: Wire,
  { response, close }: OpenReply,
  position: ReadPosition,
  options: FollowOptions,
): AsyncGenerator<readonly WireEvent[], End> {
  const { limits } = options;
  const { clock, subject } = wire;
  const frames = new SseReader(limits.eventBytes);
  const text = new TextDecoder();
  const chunks = chunksOf(response);
  let aliveAt = clock.monotonic();
  let lookMs = LOOK_MS;
  let retryMs: number | undefined;
  let isFirst = true;
  let newest = position.after;
  try {
    let next: ReturnType<typeof chunks.next> | undefined;
    for (;;) {
      next ??= chunks.next();
      // The promise is abandoned when the reader stops.
      next.catch(() => {});
      const now = clock.monotonic();
      const leftMs = Math.max(
        Math.min(aliveAt + limits.idleMs, position.heardAt + limits.silenceMs) - now,
        0,
      );
      const waitMs = options.openWaits() > 0 ? Math.min(leftMs, lookMs) : leftMs;
      const chunk = await within(clock, waitMs, next);
      if (chunk === undefined) {
        if (leftMs <= waitMs) throw idle(subject, limits);
        if (await isParked(options, position)) return "parked";
        lookMs *= 2;
        continue;
      }
      if (chunk.done === true) return { retryMs };
      next = undefined;
      const heard = frames.push(text.decode(chunk.value, { stream: true }));
      if (heard.length > 0) {
        aliveAt = clock.monotonic();
        delete position.downSince;
      }
      // A `retry` in the first frame is normal; a later one says that the stream continues after a reconnect.
      const later = isFirst ? heard.slice(1) : heard;
      if (heard.length > 0) isFirst = false;
      retryMs = later.findLast((frame) => frame.retryMs !== undefined)?.retryMs ?? retryMs;
      const { events, fault, last } = take(subject, heard, { position, limits, newest });
      newest = last;
      if (position.events > limits.events || position.characters > limits.characters) throw endless(subject);
      if (events.length > 0) {
        lookMs = LOOK_MS;
        yield events;
      }
      if (fault) throw fault;
      if (events.length === 0) continue;
      // The time that the consumer takes is not silence of the server.
      aliveAt = clock.monotonic();
      position.heardAt = aliveAt;
    }
  } catch (thrown) {
    throw wire.toFault(thrown);
  } finally {
    close();
  }
}

/** Delay before the end of a stream with an open wait is checked; doubles each time. */
const LOOK_MS = 50;

/** Resolves with the result, or with `undefined` after the time limit. */
async function within<Result>(clock: Clock, ms: number, asked: Promise<Result>): Promise<Result | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = clock.timer(ms, () => resolve(undefined));
  try {
    return await Promise.race([asked, promise]);
  } finally {
    stop();
  }
}

/** The state of one connection. */
interface Reading {
  readonly position: ReadPosition;
  readonly limits: FollowLimits;
  /** The id of the newest event of this connection. */
  readonly newest: number;
}

interface Taken {
  readonly events: readonly WireEvent[];
  readonly last: number;
  readonly fault?: AgentError;
}

/** The new events in order, up to the first invalid frame. */
function take(subject: string, frames: readonly SseFrame[], { position, limits, newest }: Reading): Taken {
  const events: WireEvent[] = [];
  let last = newest;
  for (const { data, id } of frames) {
    if (data !== undefined && isLarger(data, limits.eventBytes))
      throw new AgentError("too_large", `an event of the stream is larger than ${limits.eventBytes} bytes`);
    const event = data === undefined ? undefined : toEvent(subject, data, ordinalOf(id) ?? last + 1);
    if (event instanceof AgentError) return { events, last, fault: event };
    if (id !== undefined && SENDABLE.test(id)) position.lastEventId = id;
    if (event === undefined) continue;
    position.events += 1;
    position.characters += data?.length ?? 0;
    last = event.id;
    // A server without cursors starts again from the first event.
    if (event.id <= position.after) continue;
    position.after = event.id;
    events.push(event);
  }
  return { events, last };
}

/** Whether a text takes more bytes than the limit; a UTF-16 code unit takes at most three. */
function isLarger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && new TextEncoder().encode(text).length > limitBytes;
}

/** Characters that are allowed in a header. */
const SENDABLE = /^[\x21-\x7e]{1,256}$/;

/** The id of a frame as a number. */
function ordinalOf(id: string | undefined): number | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

/** Parses an event; `position` is its id if it contains none. */
function toEvent(subject: string, data: string, position: number): WireEvent | AgentError {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    return new AgentError("call_failed", `${subject} sent an event that is not JSON`, { cause });
  }
  if (isDraftedArtifact(value)) return { ...value, id: position, artifact_id: value.id };
  return isEvent(value) ? value : new AgentError("call_failed", `${subject} sent an invalid event`);
}

/** In the draft, the `id` of an ArtifactGenerated is the file's id and hides the event's. */
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
  return new AgentError("timeout", `${subject} sent nothing for ${idleMs} ms`);
}

function endless(subject: string): AgentError {
  return new AgentError("too_large", `${subject} sends more events than a request may have`);
}
