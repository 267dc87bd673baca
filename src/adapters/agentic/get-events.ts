import type { Context } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { lastEventId, parseName, queryOf, read } from "../../http/messages/event-query.ts";
import { reply } from "../../http/messages/reply.ts";
import type { StreamFormat } from "../../http/sse/format.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import { isId } from "../../protocol/ids.ts";
import type { Address, Feed } from "../../runtime/feeds.ts";
import { DialectWriter, readAgentCalls } from "./dialect.ts";
import type { ShownEvent } from "./dialect.ts";
import type { AgenticService } from "./service.ts";

/**
 * Answers with the events of a request since its start or its newest answer, until its turn ends or waits: as a stream,
 * or as a list when that has happened.
 */
export async function getEvents(c: Context<AppEnv>, service: AgenticService): Promise<Response> {
  const { host, agent } = service;
  const query = queryOf(c);
  const id = read(query, "request_id", parseName);
  if (id === undefined) throw new AgentError("unprocessable", "request_id is required");
  const address = await findRequest(service, id);
  const after = lastEventId(c, query);
  const open = (signal: AbortSignal): Promise<Feed> => {
    const options = { filter: { level: "all" }, signal } as const;
    return host.runtime.follow(address, { ...options, ...(after !== undefined && { after, seen: after }) });
  };
  const newDialect = async (): Promise<DialectWriter> =>
    new DialectWriter(agent, await readAgentCalls(host.runtime, address));
  if (/^(?:true|1|yes|on)$/i.test(query.get("stream") ?? "")) {
    return replyWithStream(c, host, {
      id,
      open: async (signal) => ({ feed: await open(signal), after, format: toFormat(await newDialect()) }),
    });
  }
  const events = await host.waits.until(c, async (signal) =>
    collect(await open(signal), await newDialect(), signal),
  );
  return reply(c, `[${events.join(",")}]`);
}

/** The request with an id; a run has an id too, but is not read here. */
async function findRequest({ host, agent }: AgenticService, id: string): Promise<Address> {
  try {
    const address = isId(id) ? await host.runtime.resolve(id) : undefined;
    if (address?.kind === "request" && address.agent === agent) return address;
  } catch (thrown) {
    if (toAgentError(thrown).code !== "not_found") throw thrown;
  }
  throw new AgentError("not_found", `agent ${agent} has no request ${id}`);
}

/** One frame an event, named as their server does. Their page does not come back after the end of a stream. */
function toFormat(dialect: DialectWriter): StreamFormat {
  return {
    endless: true,
    opening: "",
    event: (text) => dialect.take(text).map(toFrame).join(""),
    // A reader who comes back in the middle of a thought gets it from its beginning.
    heartbeat: (cursor) => (cursor === undefined || dialect.isThinking ? ":\n\n" : `id: ${cursor}\n\n`),
    end: (leaving) => (leaving ? "" : dialect.end().map(toFrame).join("")),
  };
}

function toFrame({ event, shown }: ShownEvent): string {
  return `event: message\nid: ${event.id}\ndata: ${JSON.stringify(shown)}\n\n`;
}

async function collect(feed: Feed, dialect: DialectWriter, signal: AbortSignal): Promise<readonly string[]> {
  const collected: string[] = [];
  let length = 0;
  if (feed.finished) return collected;
  for await (const { events } of feed.pages) {
    for (const { shown } of events.flatMap((text) => dialect.take(text))) {
      const encoded = JSON.stringify(shown);
      collected.push(encoded);
      length += encoded.length;
    }
    if (length > LIST_LIMIT)
      throw new AgentError("too_large", "the events are too many for one list", { hint: "use stream=true" });
  }
  collected.push(...dialect.end().map(({ shown }) => JSON.stringify(shown)));
  if (signal.aborted) throw new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
  return collected;
}

/** The longest list, in characters. */
const LIST_LIMIT = 16 * 1024 * 1024;
