import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { Feed } from "../../runtime/api.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { NodePipe } from "./node-pipe.ts";
import { ALREADY_SENT, API_HEADERS, corsOf, replyEmpty } from "../messages/reply.ts";
import { Stream } from "./stream.ts";
import type { OpenStreams } from "./open-streams.ts";
import { webPipe } from "./web-pipe.ts";

/** What a stream is answered from. */
export interface StreamSource {
  /** What is streamed: the id of a request or a run, where it is known before. */
  readonly id: string | undefined;
  /** Finds the events; what it throws becomes an ordinary problem. */
  open(signal: AbortSignal): Promise<OpenedStream>;
}

/** A feed, and what else there is to know of it. */
export interface OpenedStream {
  readonly feed: Feed;
  /** Where it begins, if that is known. */
  readonly after: number | undefined;
  /** What the head of the answer says of it. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where streams are kept and faults are told. */
export interface StreamHost {
  readonly streams: OpenStreams;
  readonly report: (where: string, thrown: unknown) => void;
}

/**
 * Answers with a stream of events, or with 204 when nothing will ever come, which keeps an EventSource
 * from asking again. A reader that goes away ends its stream and nothing else.
 */
export async function replyWithStream(
  c: Context<AppEnv>,
  { streams, report }: StreamHost,
  { id, open }: StreamSource,
): Promise<Response> {
  if (c.req.method === "HEAD") return new Response(null, { headers: { ...SSE_HEADERS, ...corsOf(c) } });
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
  return start(c, { streams, report }, { ...opened, id, stop });
}

interface Started extends OpenedStream {
  readonly id: string | undefined;
  readonly stop: AbortController;
}

/** Hooks the feed to the connection and lets them run. What it leaves behind does not hold on to the request. */
function start(c: Context<AppEnv>, host: StreamHost, { id, feed, after, stop, headers }: Started): Response {
  const { streams } = host;
  const cors = corsOf(c);
  const all = cors || headers ? { ...SSE_HEADERS, ...cors, ...headers } : SSE_HEADERS;
  const gone = (): void => stop.abort(GONE);
  const options = { gone, stallMs: streams.times.stallMs };
  const span = { after, endsAt: streams.endOfLife() };
  const outgoing = nodeOf(c)?.outgoing;
  if (outgoing !== undefined) {
    run(new Stream(new NodePipe(outgoing, all, options), gone, streams.times, span), feed, id, host);
    return ALREADY_SENT;
  }
  const { pipe, body } = webPipe(options);
  run(new Stream(pipe, gone, streams.times, span), feed, id, host);
  return new Response(body, { headers: all });
}

function run(stream: Stream, feed: Feed, id: string | undefined, { streams, report }: StreamHost): void {
  const remove = streams.add(stream);
  stream.start(feed, (error) => {
    if (error !== undefined) report("a stream of events failed", error);
    remove();
    streams.leave(id);
  });
}

const SSE_HEADERS: Readonly<Record<string, string>> = {
  ...API_HEADERS,
  "content-type": "text/event-stream",
  // Nothing on the way may keep, compress or gather the frames.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Made once, because an error costs more than the rest of ending a stream. */
const GONE = new AgentError("request_timeout", "the reader has gone");
