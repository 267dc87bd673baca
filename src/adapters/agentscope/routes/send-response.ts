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
  /** Whether the request is canceled when this reader disconnects, if the server is configured so. Default false. */
  readonly isOwner?: boolean;
  /** Finds the response; an error is a refusal, because nothing was sent yet. */
  find(): Promise<ResponsePlace>;
}

/** Answers with the objects of a response as they happen. */
export function streamResponse(
  c: Context<AppEnv>,
  service: AgentScopeService,
  { id, after = -1, isOwner = false, find }: ResponseSource,
): Promise<Response> {
  const { host, options } = service;
  const dialect = dialectOf(c, options.dialect);
  return replyWithStream(c, host, {
    id,
    async open(signal) {
      const place = await find();
      const { requestId } = place;
      const projection = new Projection(place);
      const feed = await followRequest(host.runtime, place, signal);
      const format = responseFormat({
        projection,
        requestId,
        dialect,
        prefix: host.mount.addressOf(c, ""),
        after,
        isGone() {
          if (!signal.aborted) return false;
          if (isOwner) leave(service, requestId);
          return true;
        },
      });
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
  const prefix = host.mount.addressOf(c, "");
  try {
    const last = await host.waits.until(c, (signal) => readResponse(host.runtime, place, { prefix, signal }));
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
  /** Whether the reader has disconnected. */
  isGone(): boolean;
}

/**
 * The frames of one response: the cursor and one object in one line of JSON. Their browser clients break at a frame
 * without data, at an event name, at a carriage return and at `[DONE]`, so there is none of these. A client of this
 * protocol does not reconnect by itself, so the stream has no maximum life.
 */
function responseFormat(options: FormatOptions): StreamFormat {
  const { projection, requestId, dialect, prefix, after, isGone } = options;

  function toFrames(objects: readonly AgentScopeObject[]): string {
    let text = "";
    for (const object of objects) {
      if (object.sequence_number !== null && object.sequence_number <= after) continue;
      text += `id: ${projection.cursor}\ndata: ${encodeObject(object, dialect)}\n\n`;
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
      if (leaving) return toFrames(projection.interrupt(STOPPING, requestId));
      return isGone() ? "" : toFrames(projection.endAtWait());
    },
  };
}

/** Ends an answer whose response continues in the log. */
const STOPPING = {
  code: "UNAVAILABLE",
  message: "the server is stopping; the agent continues, and the session's stream has the rest",
};
