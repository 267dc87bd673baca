import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { isId } from "../../protocol/ids.ts";
import type { Address } from "../../runtime/feeds.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { lastEventId, nextPage, parseEventQuery, queryOf } from "../messages/event-query.ts";
import { withPrefix } from "../messages/mount.ts";
import type { EventQuery } from "../messages/event-query.ts";
import { pathParameter } from "./add-routes.ts";
import type { AgentHandlers, Handler } from "./add-routes.ts";
import type { Host, Place } from "./host.ts";
import type { PollCursors } from "./poll-cursors.ts";
import { reply } from "../messages/reply.ts";
import { replyWithStream } from "../sse/reply-with-stream.ts";

/** The routes that read events. They are equivalent, because an id names either a request or a run. */
export function eventHandlers(
  host: Host,
  { agent }: Place,
  cursors: PollCursors,
): AgentHandlers<"getEvents" | "getEventsById" | "events" | "eventsById"> {
  const events: Handler = (c) => readEvents(c, host, cursors, agent, namedInQuery(c));
  const eventsById: Handler = (c) => readEvents(c, host, cursors, agent, pathParameter(c, "id"));
  return { getEvents: events, getEventsById: eventsById, events, eventsById };
}

/** Refuses an invalid id. */
export function checkId(id: string): string {
  if (isId(id)) return id;
  throw new AgentError("invalid_request", `${JSON.stringify(id.slice(0, 64))} is not a valid id`);
}

/** The error for an id that the agent does not have; whether another agent has it is not revealed. */
export function unknown(id: string, agent: string): AgentError {
  return new AgentError("not_found", `agent ${agent} has no request or run ${id}`);
}

async function readEvents(
  c: Context<AppEnv>,
  host: Host,
  cursors: PollCursors,
  agent: string | undefined,
  name: string,
): Promise<Response> {
  const query = queryOf(c);
  const asked = parseEventQuery(query);
  const id = checkId(name);
  const address = await host.runtime.resolve(id);
  if (agent !== undefined && address.agent !== agent) throw unknown(id, agent);
  if (asked.stream) return stream(c, host, { id, address, asked, query });
  return poll(c, host, cursors, { id, address, asked, query });
}

interface EventRead {
  readonly id: string;
  readonly address: Address;
  readonly asked: EventQuery;
  readonly query: URLSearchParams;
}

function stream(c: Context<AppEnv>, host: Host, { id, address, asked, query }: EventRead): Promise<Response> {
  const { since, follow: forever, filter } = asked;
  // A reconnecting EventSource sends both: its original URL and its position.
  const last = lastEventId(c, query);
  const after = last === undefined ? since : Math.max(since ?? 0, last);
  const options = {
    forever,
    ...(after !== undefined && { after }),
    ...(last !== undefined && { seen: last }),
    ...(filter && { filter }),
  };
  return replyWithStream(c, host, {
    id,
    open: async (signal) => ({ after, feed: await host.runtime.follow(address, { ...options, signal }) }),
  });
}

async function poll(
  c: Context<AppEnv>,
  host: Host,
  cursors: PollCursors,
  { id, address, asked, query }: EventRead,
): Promise<Response> {
  const { runtime, waits, mount } = host;
  const { since, consumer, timeoutMs, filter } = asked;
  // A run id reads the whole history, which several readers may poll; a cursor for it needs a consumer name.
  const hasCursor = since === undefined && (address.kind === "request" || consumer !== "");
  const after = hasCursor ? cursors.get(id, consumer) : (since ?? 0);
  let page = await runtime.read(address, { after, ...(filter && { filter }) });
  if (page.events.length === 0 && !page.more && timeoutMs > 0) {
    const { cursor } = page;
    await waits.until(c, (signal) => arrival(host, { address, asked }, cursor, signal), timeoutMs);
    page = await runtime.read(address, { after: cursor, ...(filter && { filter }) });
  }
  // A HEAD request moves no cursor.
  if (hasCursor && c.req.method === "GET") cursors.advance(id, consumer, page.cursor);
  const headers = page.more ? { link: nextPage(mount.pathOf(c), query, "since", page.cursor) } : undefined;
  const prefix = mount.prefixOf(c);
  const events = prefix === "" ? page.events : page.events.map((event) => withPrefix(event, prefix));
  return reply(c, `[${events.join(",")}]`, headers && { headers });
}

/** Resolves when there are events after a cursor, or there will never be any, or the signal aborts. */
async function arrival(
  { runtime }: Host,
  { address, asked: { follow, filter } }: Pick<EventRead, "address" | "asked">,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  // A completed request gets no more events; a run can get another turn.
  const forever = follow || address.kind === "run";
  const feed = await runtime.follow(address, { after, forever, signal, ...(filter && { filter }) });
  if (feed.finished) return;
  for await (const { events } of feed.pages) if (events.length > 0) return;
}

function namedInQuery(c: Context<AppEnv>): string {
  const id = c.req.query("request_id") ?? c.req.query("run_id");
  if (id !== undefined) return id;
  throw new AgentError("invalid_request", "request_id or run_id is required");
}
