import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { Access } from "../../ports/principal.ts";
import type { Feed } from "../../runtime/feeds.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";
import type { Mount } from "../messages/mount.ts";
import { NodeWriter } from "./node-writer.ts";
import { ALREADY_SENT, API_HEADERS, corsOf, replyEmpty } from "../messages/reply.ts";
import { BackpressuredStream } from "./backpressured-stream.ts";
import { nativeFormat } from "./format.ts";
import type { StreamFormat } from "./format.ts";
import type { OpenStreams } from "./open-streams.ts";
import { createWebWriter } from "./web-writer.ts";

/** The source of a stream. */
export interface StreamSource {
  /** The id of the request or run, if it is known before `open`. */
  readonly id: string | undefined;
  /** Opens the events; an error becomes an ordinary problem document. */
  open(signal: AbortSignal): Promise<OpenedStream>;
}

/** A feed and its context. */
export interface OpenedStream {
  readonly feed: Feed;
  /** The start position, if known. */
  readonly after: number | undefined;
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The format, made for this stream alone. Default: that of the native protocol. */
  readonly format?: StreamFormat;
}

/** The open streams and the fault report. */
export interface StreamHost {
  readonly streams: OpenStreams;
  readonly report: (where: string, thrown: unknown) => void;
  readonly mount: Mount;
}

/**
 * Answers with an event stream, or with 204 if no event will ever come, which keeps an EventSource from
 * reconnecting. A reader that disconnects ends only its stream.
 */
export async function replyWithStream(
  c: Context<AppEnv>,
  host: StreamHost,
  { id, open }: StreamSource,
): Promise<Response> {
  if (c.req.method === "HEAD") return new Response(null, { headers: { ...SSE_HEADERS, ...corsOf(c) } });
  const { streams } = host;
  const stop = new AbortController();
  streams.take(id);
  let opened: OpenedStream;
  try {
    opened = await open(stop.signal);
  } catch (thrown) {
    streams.leave(id);
    throw thrown;
  }
  if (opened.feed.finished) {
    streams.leave(id);
    return replyEmpty(c, opened.headers);
  }
  return start(c, host, { ...opened, id, stop });
}

interface Started extends OpenedStream {
  readonly id: string | undefined;
  readonly stop: AbortController;
}

/** Connects the feed to the response. The closures do not keep the request alive. */
function start(
  c: Context<AppEnv>,
  host: StreamHost,
  { id, feed, after, stop, headers, format = nativeFormat(host.mount.prefixOf(c)) }: Started,
): Response {
  const { streams } = host;
  const cors = corsOf(c);
  const all = cors || headers ? { ...SSE_HEADERS, ...cors, ...headers } : SSE_HEADERS;
  const gone = (): void => stop.abort(GONE);
  const span = { after, endsAt: format.endless === true ? Infinity : streams.endOfLife(), format };
  const access = c.get("access");
  const outgoing = nodeOf(c)?.outgoing;
  if (outgoing !== undefined) {
    run(
      new BackpressuredStream(
        new NodeWriter(outgoing, all, gone, format.isBinary === true),
        gone,
        streams.times,
        span,
      ),
      feed,
      id,
      host,
      access,
    );
    return ALREADY_SENT;
  }
  const { writer, body } = createWebWriter(gone, format.isBinary === true);
  run(new BackpressuredStream(writer, gone, streams.times, span), feed, id, host, access);
  return new Response(body, { headers: all });
}

function run(
  stream: BackpressuredStream,
  feed: Feed,
  id: string | undefined,
  { streams, report }: StreamHost,
  access: Access | undefined,
): void {
  const remove = streams.add(stream, access);
  stream.start(feed, (error) => {
    if (error !== undefined) report("a stream of events failed", error);
    remove();
    streams.leave(id);
  });
}

const SSE_HEADERS: Readonly<Record<string, string>> = {
  ...API_HEADERS,
  "content-type": "text/event-stream",
  // No proxy may store, compress or buffer the frames.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Created once, because creating an error costs more than the rest of ending a stream. */
const GONE = new AgentError("request_timeout", "the reader has disconnected");
