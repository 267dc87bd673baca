import type { Context } from "hono";
import type { ResponseItemList } from "openai/resources/responses/input-items";
import type { ResponseItem, ResponseStreamEvent } from "openai/resources/responses/responses";
import { AgentError, toAgentError } from "../../errors.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { readJson } from "../../http/messages/body.ts";
import { parseCount, queryOf, read } from "../../http/messages/event-query.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import { reply } from "../../http/messages/reply.ts";
import { cancelRequest } from "../../http/routes/cancel-request.ts";
import type { Host } from "../../http/routes/host.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Runtime } from "../../runtime/api.ts";
import { followAnswer, parseAnswerId, toAnswerId, toItemId, unknownAnswer } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { readResponseBody } from "./response-body.ts";
import { ResponseFold } from "./responses.ts";
import type { WireResponse } from "./responses.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey, startTurn } from "./start-turn.ts";

/** Creates a response: at once in the background, as it happens, or when it has ended. */
export async function respond(c: Context<AppEnv>, host: Host): Promise<Response> {
  const {
    request: said,
    stream,
    background,
  } = await readResponseBody(host, await readJson(c, host.bodyLimitBytes), (id) =>
    findAnswer(host.runtime, id),
  );
  const request = { ...said, idempotencyKey: readIdempotencyKey(c.req.header(IDEMPOTENCY_HEADER)) };
  if (stream) return streamAnswer(c, host, { find: () => startTurn(host, request) });
  const place = await startTurn(host, request);
  if (background) return reply(c, JSON.stringify(await readAnswer(c, host, place)));
  return reply(c, JSON.stringify(await awaitAnswer(c, host, place)));
}

/** Sends a response as it is now, or all its events after one of them. */
export async function getResponse(c: Context<AppEnv>, host: Host): Promise<Response> {
  const find = (): Promise<AnswerPlace> => findAnswer(host.runtime, c.req.param("id") ?? "");
  if (c.req.query("stream") !== "true")
    return reply(c, JSON.stringify(await readAnswer(c, host, await find())));
  return streamAnswer(c, host, { find, after: read(queryOf(c), "starting_after", parseCount) });
}

/** Cancels the request of a response; one that has ended stays as it is. */
export async function cancelResponse(c: Context<AppEnv>, host: Host): Promise<Response> {
  const place = await findAnswer(host.runtime, c.req.param("id") ?? "");
  await cancelRequest(c, host, place);
  return reply(c, JSON.stringify(await readAnswer(c, host, place)));
}

/** Removes a response with its run; a run that has others stays. */
export async function deleteResponse(c: Context<AppEnv>, { runtime }: Host): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const { runId } = await findAnswer(runtime, id);
  if ((await runtime.requests(runId)).length > 1)
    throw new AgentError(
      "conflict",
      `the conversation ${runId} has other responses, which would be removed, too`,
      {
        hint: `remove all of them with DELETE /runs/${runId}`,
      },
    );
  await runtime.removeRun(runId);
  return reply(c, JSON.stringify({ id, object: "response", deleted: true }));
}

/** Lists what a response answers. */
export async function listInputItems(c: Context<AppEnv>, { runtime }: Host): Promise<Response> {
  const place = await findAnswer(runtime, c.req.param("id") ?? "");
  const event = await eventAt(runtime, place, place.began);
  const asked = event?.type === "ResumeWithInput" ? await eventAt(runtime, place, event.wait_id) : undefined;
  const data = event === undefined ? [] : toInputItems(place, event, asked);
  const [item] = data;
  const id = item !== undefined && "id" in item ? (item.id ?? "") : "";
  const list: ResponseItemList = { object: "list", data, first_id: id, last_id: id, has_more: false };
  return reply(c, JSON.stringify(list));
}

function toInputItems({ requestId }: AnswerPlace, event: Event, asked: Event | undefined): ResponseItem[] {
  const id = toItemId("msg", requestId, event.id);
  if (event.type === "RequestStarted") {
    const { input, attachments = [] } = event;
    const text = typeof input === "string" ? input : JSON.stringify(input);
    const files = attachments.map((file) => ({ type: "input_file", file_id: file }) as const);
    return [{ id, type: "message", role: "user", content: [{ type: "input_text", text }, ...files] }];
  }
  if (event.type !== "ResumeWithInput") return [];
  if (asked?.type === "WaitForInput" && asked.tool !== undefined) {
    const { result = null } = event.request_keys;
    const output = typeof result === "string" ? result : JSON.stringify(result);
    const callId = toItemId("call", requestId, event.wait_id);
    return [{ id, type: "function_call_output", call_id: callId, output, status: "completed" }];
  }
  const { reason, ...values } = event.request_keys;
  const [approve, ...others] = Object.values(values);
  if (typeof approve === "boolean" && others.length === 0) {
    const asked = toItemId("mcpr", requestId, event.wait_id);
    const why = typeof reason === "string" ? { reason } : {};
    return [{ id, type: "mcp_approval_response", approval_request_id: asked, approve, ...why }];
  }
  const text = JSON.stringify(event.request_keys);
  return [{ id, type: "message", role: "user", content: [{ type: "input_text", text }] }];
}

/** Finds a response by its id; `not_found` for one that is not there. */
async function findAnswer(runtime: Runtime, id: string): Promise<AnswerPlace> {
  const named = parseAnswerId(id);
  if (named === undefined) throw unknownAnswer(id);
  const address = await runtime.resolve(named.requestId).catch((thrown: unknown) => {
    throw toAgentError(thrown).code === "not_found" ? unknownAnswer(id) : thrown;
  });
  if (address.kind !== "request") throw unknownAnswer(id);
  const place = { agent: address.agent, runId: address.runId, ...named };
  if (named.began === undefined) return place;
  const begin = await eventAt(runtime, place, named.began);
  if (begin?.type === "ResumeWithInput" || begin?.type === "WaitExpired") return place;
  throw unknownAnswer(id);
}

/** An event of a request; by default its first one. */
async function eventAt(
  runtime: Runtime,
  { agent, runId, requestId }: AnswerPlace,
  eventId = 1,
): Promise<Event | undefined> {
  const address = { kind: "request", agent, runId, requestId } as const;
  const { events } = await runtime.read(address, { after: eventId - 1, limit: 1, filter: { level: "all" } });
  const [event] = events.map((text) => JSON.parse(text) as Event);
  return eventId === 1 || event?.id === eventId ? event : undefined;
}

/** A response as of now. */
async function readAnswer(
  c: Context<AppEnv>,
  { runtime, mount }: Host,
  place: AnswerPlace,
): Promise<WireResponse> {
  const prefix = mount.addressOf(c, "");
  const { agent, runId, requestId } = place;
  // Before the events: what they say is then at least as new.
  const { status, wait_id: waitId, created_at: createdAt } = await runtime.status(requestId);
  const fold = new ResponseFold(place);
  const address = { kind: "request", agent, runId, requestId } as const;
  for (let after = 0, more = true; more && !fold.hasEnded;) {
    const page = await runtime.read(address, { after, filter: { level: "all" } });
    for (const event of page.events) fold.take(withPrefix(event, prefix));
    after = page.cursor;
    more = page.more;
  }
  if (!fold.hasEnded && waitId !== undefined && (status === "waiting" || status === "held")) fold.endAtWait();
  const response = fold.response();
  if (fold.hasBegun) return response;
  return { ...response, status: "queued", created_at: Math.floor(Date.parse(createdAt) / 1_000) };
}

/** A response when it has ended. */
async function awaitAnswer(c: Context<AppEnv>, host: Host, place: AnswerPlace): Promise<WireResponse> {
  const prefix = host.mount.addressOf(c, "");
  return host.waits.until(c, async (signal) => {
    const fold = new ResponseFold(place);
    for await (const { events } of (await followAnswer(host.runtime, place, signal)).pages) {
      for (const event of events) fold.take(withPrefix(event, prefix));
      if (fold.hasEnded) break;
    }
    if (signal.aborted && !fold.hasEnded) {
      const id = toAnswerId("resp", place);
      throw new AgentError(
        "unavailable",
        `the server is stopping; GET /v1/responses/${id} has the answer later`,
      );
    }
    fold.endAtWait();
    return fold.response();
  });
}

/** Which response to stream. */
interface StreamedAnswer {
  /** The number of the last event that the reader has. */
  readonly after?: number | undefined;
  find(): Promise<AnswerPlace>;
}

/** Sends the events of a response as they happen. */
function streamAnswer(
  c: Context<AppEnv>,
  host: Host,
  { after = -1, find }: StreamedAnswer,
): Promise<Response> {
  return replyWithStream(c, host, {
    id: undefined,
    async open(signal) {
      const place = await find();
      const fold = new ResponseFold(place);
      const prefix = host.mount.addressOf(c, "");
      const toFrames = (events: readonly ResponseStreamEvent[]): string =>
        events
          .filter(({ sequence_number: number }) => number > after)
          .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
          .join("");
      return {
        feed: await followAnswer(host.runtime, place, signal),
        after: undefined,
        format: {
          // A client of this protocol comes back only if its program says so.
          endless: true,
          opening: "",
          event: (text) => toFrames(fold.take(withPrefix(text, prefix))),
          get hasEnded() {
            return fold.hasEnded;
          },
          heartbeat: () => ": heartbeat\n\n",
          end: (leaving) => (leaving ? "" : toFrames(fold.endAtWait())),
        },
      };
    },
  });
}
