import { within } from "../../shared/clock.ts";
import { chunksOf } from "../wire/body.ts";
import type { OpenReply, Wire } from "../wire/wire.ts";
import type { AllFollowSettings, ReadPosition } from "./follow-settings.ts";
import type { Followed } from "./followed.ts";
import { takeEvents } from "./received-events.ts";
import type { ReceivedEvent } from "./received-events.ts";
import { SseReader } from "./sse-reader.ts";

/** Opens a connection; `undefined` if no more events will ever come. */
export async function connect(
  wire: Wire,
  { path, query, since, signal, limits }: AllFollowSettings,
  position: ReadPosition,
): Promise<OpenReply | undefined> {
  const { lastEventId = position.after < 0 ? undefined : String(position.after) } = position;
  const reply = await wire.open("GET", path, {
    query: { stream: true, ...query, ...(lastEventId === undefined && { since }) },
    headers: {
      accept: "text/event-stream",
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    signal,
    timeoutMs: limits.idleMs,
  });
  const { status, headers } = reply.response;
  const type = headers.get("content-type") ?? "";
  if (status !== 204 && type.startsWith("text/event-stream")) return reply;
  reply.close();
  if (status === 204) return undefined;
  throw wire.fault("call_failed", "did not answer with an event stream");
}

/**
 * Whether the request only waits for an answer and all its events are read. Where the server does not tell, a stream that
 * says nothing beside an open question does.
 */
export async function isWaiting(
  { openWaits, progress }: AllFollowSettings,
  { after }: ReadPosition,
  { isSilent = false }: { readonly isSilent?: boolean } = {},
): Promise<boolean> {
  if (openWaits() === 0) return false;
  const told = await progress();
  if (told === undefined) return false;
  const { status = isSilent ? "waiting" : undefined, last_event_id: newest = after } = told;
  // A turn that is held takes answers, too.
  return (status === "waiting" || status === "held") && !(newest > after);
}

/**
 * How a connection ended: the request waits, or the connection closed, with an optional retry delay from the
 * server.
 */
export type End = "waiting" | number | undefined;

/** Reads one connection until it ends. */
export async function* readConnection(
  wire: Wire,
  { response, close }: OpenReply,
  position: ReadPosition,
  options: AllFollowSettings,
): AsyncGenerator<Followed<ReceivedEvent>, End> {
  const { limits } = options;
  const { clock } = wire;
  const frames = new SseReader(limits.eventBytes);
  const text = new TextDecoder();
  const chunks = chunksOf(response);
  let aliveAt = clock.monotonic();
  let lookMs = LOOK_MS;
  let retryMs: number | undefined;
  let isFirst = true;
  position.newest = position.after;
  try {
    yield { type: "live" };
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
        if (leftMs <= waitMs) throw wire.fault("timeout", `sent nothing for ${limits.idleMs} ms`);
        if (await isWaiting(options, position, { isSilent: true })) return "waiting";
        lookMs *= 2;
        continue;
      }
      if (chunk.done === true) return retryMs;
      next = undefined;
      const heard = frames.push(text.decode(chunk.value, { stream: true }));
      if (heard.length > 0) {
        aliveAt = clock.monotonic();
        delete position.downSince;
      }
      // A `retry` in the first frame is normal; a later one says that the stream continues after a reconnect.
      for (const frame of heard) {
        if (!isFirst) retryMs = frame.retryMs ?? retryMs;
        isFirst = false;
      }
      const { events, fault } = takeEvents(wire, heard, position, options);
      if (position.events > limits.events || position.characters > limits.characters)
        throw wire.fault("too_large", "sends more events than a request may have");
      if (events.length > 0) {
        lookMs = LOOK_MS;
        position.failures = 0;
        yield { type: "events", events };
        // The time that the consumer takes is not silence of the server.
        aliveAt = clock.monotonic();
        position.heardAt = aliveAt;
      }
      if (fault) throw fault;
    }
  } catch (thrown) {
    throw wire.toFault(thrown);
  } finally {
    close();
  }
}

/** Delay before the end of a stream with an open wait is checked; doubles each time. */
const LOOK_MS = 50;
