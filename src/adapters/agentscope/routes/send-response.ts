import type { Context } from "hono";
import { nodeOf } from "../../../http/messages/app-env.ts";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { reply } from "../../../http/messages/reply.ts";
import { replyWithStream } from "../../../http/sse/reply-with-stream.ts";
import type { RequestId } from "../../../protocol/ids.ts";
import { encodeObject, pickDialect } from "../dialect/dialect.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { Projection } from "../response/projection.ts";
import { followRequest, readResponse } from "../response/read-response.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import type { AgentScopeService } from "./accept-request.ts";
import { withPrefix } from "../../../http/messages/mount.ts";
import type { StreamFormat } from "../../../http/sse/format.ts";
import type { AgentScopeObject } from "../objects.ts";

/** Which response to send, and from where on. */
export interface ResponseSource {
  /** The id of its request, if it is known before it is found. */
  readonly id: string | undefined;
  /** The last sequence number that the reader has. Default: none. */
  readonly after?: number | undefined;
  /** The last frame that the reader has. Default: none. */
  readonly seen?: FrameId | undefined;
  /** Whether the request is canceled when this reader disconnects, if the server is configured so. Default false. */
  readonly isOwner?: boolean;
  /** Finds the response; an error is a refusal, because nothing was sent yet. */
  find(): Promise<ResponsePlace>;
}

/** The id of a frame: the event that it is made of, and its place among the frames of the event; infinite for the last. */
export interface FrameId {
  readonly event: number;
  readonly index: number;
}

/** The last frame that a reader has: from `Last-Event-ID`, or from `last_event_id` in the query; undefined for none. */
export function readFrameId(c: Context<AppEnv>): FrameId | undefined {
  const given = c.req.header("last-event-id") ?? c.req.query("last_event_id") ?? "";
  const [, event, index] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(given) ?? [];
  return event === undefined
    ? undefined
    : { event: Number(event), index: index === undefined ? Infinity : Number(index) };
}

/** Answers with the objects of a response as they happen. */
export function streamResponse(
  c: Context<AppEnv>,
  service: AgentScopeService,
  { id, after = -1, seen, isOwner = false, find }: ResponseSource,
): Promise<Response> {
  const { host, options } = service;
  const dialect = dialectOf(c, options.dialect);
  return replyWithStream(c, host, {
    id,
    async open(signal) {
      const place = await find();
      const { requestId } = place;
      const projection = new Projection({ ...place, components: options.components });
      const feed = await followRequest(host.runtime, place, { signal, ...(seen && { seen: seen.event }) });
      const format = responseFormat({
        projection,
        requestId,
        dialect,
        prefix: host.mount.addressOf(c, ""),
        after,
        seen,
        isGone() {
          if (!signal.aborted) return false;
          if (isOwner) leave(service, requestId);
          return true;
        },
      });
      if (seen?.index === Infinity) {
        const rest = await followRequest(host.runtime, place, { signal, after: seen.event });
        if (rest.finished) return { feed: rest, format, after: undefined };
      }
      return { feed, format, after: undefined };
    },
  });
}

/** Answers with the last object of a response, when there is one. */
export async function sendResponse(
  c: Context<AppEnv>,
  service: AgentScopeService,
  place: ResponsePlace,
): Promise<Response> {
  const { host, options } = service;
  const dialect = dialectOf(c, options.dialect);
  const { components } = options;
  const prefix = host.mount.addressOf(c, "");
  try {
    const last = await host.waits.until(c, (signal) =>
      readResponse(host.runtime, place, { prefix, components, signal }),
    );
    return reply(c, encodeObject(last, dialect));
  } catch (thrown) {
    if (nodeOf(c)?.outgoing.destroyed === true) leave(service, place.requestId);
    throw thrown;
  }
}

/** Cancels a request whose reader has disconnected, if the server is configured so. */
function leave({ host, agent, options }: AgentScopeService, requestId: RequestId): void {
  if (options.disconnect !== "cancel") return;
  host.runtime
    .process(agent, { type: "CancelRequest", request_id: requestId })
    .catch((thrown: unknown) => host.report("a request without a reader could not be canceled", thrown));
}

/** The dialect of an answer. */
export function dialectOf(c: Context<AppEnv>, own: Dialect = "python"): Dialect {
  return pickDialect(c.req.query("dialect"), c.req.header("accept"), own);
}

/** The settings of one stream. */
interface FormatOptions {
  readonly projection: Projection;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The address under which the reader reaches the app; files have absolute addresses. */
  readonly prefix: string;
  /** The last sequence number that the reader has; -1 for none. */
  readonly after: number;
  /** The last frame that the reader has. */
  readonly seen: FrameId | undefined;
  /** Whether the reader has disconnected. */
  isGone(): boolean;
}

/**
 * The frames of one response: an id and one object in one line of JSON. The last object of an event has the id of the event, those
 * before it also their place, so that a reader who comes back with it gets the others. What no event has ended has no id. Their browser clients break at a frame
 * without data, at an event name, at a carriage return and at `[DONE]`, so there is none of these. A client of this
 * protocol does not reconnect by itself, so the stream has no maximum life.
 */
function responseFormat(options: FormatOptions): StreamFormat {
  const { projection, requestId, dialect, prefix, after, seen, isGone } = options;

  function toFrame(object: AgentScopeObject): string {
    const { sequence_number: number } = object;
    return number !== null && number <= after ? "" : `data: ${encodeObject(object, dialect)}\n\n`;
  }

  function isSeen(index: number): boolean {
    if (seen === undefined || projection.cursor > seen.event) return false;
    return projection.cursor < seen.event || index <= seen.index;
  }

  /** The frames of an event. */
  function toFrames(objects: readonly AgentScopeObject[]): string {
    let text = "";
    for (const [index, object] of objects.entries()) {
      const frame = isSeen(index) ? "" : toFrame(object);
      const place = index === objects.length - 1 ? "" : `.${index}`;
      if (frame !== "") text += `id: ${projection.cursor}${place}\n${frame}`;
    }
    return text;
  }

  return {
    endless: true,
    opening: "",
    event: (text) => toFrames(projection.take(withPrefix(text, prefix))),
    get hasEnded() {
      return projection.hasEnded;
    },
    heartbeat: () => ": heartbeat\n\n",
    end(leaving) {
      if (leaving) return projection.interrupt(STOPPING, requestId).map(toFrame).join("");
      return isGone() ? "" : projection.endAtWait().map(toFrame).join("");
    },
  };
}

/** Ends an answer whose response continues in the log. */
const STOPPING = {
  code: "UNAVAILABLE",
  message: "the server is stopping; the agent continues, and the session's stream has the rest",
};
