import type { Context } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import type { RefusalKind } from "../../protocol/schema/check-json.ts";
import { queryFields, parseRequest } from "../../protocol/requests/parse.ts";
import type { IncomingRequest } from "../../protocol/requests/parse.ts";
import type { Delivery, ResumeWithInput, TurnRequest } from "../../protocol/requests/requests.ts";
import type { Receipt, Runtime } from "../../runtime/api.ts";
import { ownRequest } from "../../runtime/commands/given-request.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { readJson } from "../messages/body.ts";
import { lastEventId, queryOf, parseText, read } from "../messages/event-query.ts";
import type { AgentHandlers } from "./add-routes.ts";
import { withTraceOf, traceOf } from "./host.ts";
import type { Host, Place } from "./host.ts";
import { reply } from "../messages/reply.ts";
import { replyWithStream } from "../sse/reply-with-stream.ts";
import type { OpenedStream } from "../sse/reply-with-stream.ts";
import { isObject } from "../../protocol/json.ts";

/** The routes that send requests to an agent; at the root, to the default agent. */
export function agentHandlers(
  host: Host,
  place: Place,
): AgentHandlers<"describe" | "process" | "configure" | "streamRequest"> {
  const { runtime } = host;
  const agent = place.agent ?? runtime.defaultAgent;

  return {
    describe: (c) => reply(c, JSON.stringify(runtime.describe(agent))),

    async process(c) {
      const body = await readJson(c, host.bodyLimitBytes);
      return take(c, host, agent, toRequest(c, body));
    },

    async configure(c) {
      const body = await readJson(c, host.bodyLimitBytes);
      const incoming = toRequest(c, isUntyped(body) ? { ...body, type: "ConfigureRequest" } : body);
      if (incoming.request.type !== "ConfigureRequest") {
        throw new AgentError("invalid_request", `configure does not accept ${incoming.request.type}`);
      }
      return take(c, host, agent, incoming);
    },

    async streamRequest(c) {
      const body = await readJson(c, host.bodyLimitBytes);
      const { request } = toRequest(c, body);
      if (
        request.type === "CancelRequest" ||
        request.type === "ConfigureRequest" ||
        request.type === "Message"
      ) {
        throw new AgentError("invalid_request", `stream_request does not accept ${request.type}`, {
          hint: "send it to the route process",
        });
      }
      return replyWithStream(c, host, {
        id: request.request_id,
        open: async (signal): Promise<OpenedStream> => {
          const last = lastEventId(c, queryOf(c));
          if (last !== undefined) await checkRepeated(runtime, agent, request, last);
          const receipt = await runtime.process(agent, request);
          const feed = await runtime.answers(receipt, { signal, ...(last !== undefined && { seen: last }) });
          const after = Math.max(receipt.after, last ?? 0);
          return { after, feed, ...(receipt.replayed && { headers: REPLAYED }) };
        },
      });
    },
  };
}

const REPLAYED = { "idempotent-replayed": "true" };

/**
 * A client that has events of a request is retrying it to continue reading. That must not start a second turn, and must
 * not answer another question if the log has lost the events and has given their ids to others.
 */
async function checkRepeated(
  runtime: Runtime,
  agent: string,
  request: TurnRequest | ResumeWithInput,
  last: number,
): Promise<void> {
  const isTurn = request.type !== "ResumeWithInput";
  const hint = "send the request_id of the first attempt, or omit Last-Event-ID to start a turn";
  if (isTurn && request.request_id === undefined)
    throw new AgentError("conflict", "a request with a Last-Event-ID has no request_id", { hint });
  const { request_id: requestId, run_id: runId, key } = request;
  const id = requestId ?? runId ?? (key === undefined ? undefined : await runtime.find(agent, key));
  // An answer without a wait id is checked when it is delivered, like one with the id of a wait that is not open.
  if (id === undefined) return;
  try {
    const address = await runtime.resolve(id);
    if (address.agent === agent) await runtime.follow(address, { after: last, seen: last });
  } catch (thrown) {
    if (toAgentError(thrown).code !== "not_found") throw thrown;
    if (!isTurn) return;
    throw new AgentError("conflict", `there is no request ${id} to resume after a Last-Event-ID`, { hint });
  }
}

function toRequest(c: Context<AppEnv>, body: unknown): IncomingRequest {
  const parsed = parseRequest(body, toQuery(c));
  if (parsed.ok) {
    const { request, delivery } = parsed.value;
    return { delivery, request: ownRequest(withTraceOf(request, traceOf(c))) };
  }
  const { message, issues, kind = "invalid" } = parsed;
  throw new AgentError(REFUSALS[kind], message, { issues });
}

/** The request fields in the query; a repeated field is refused. */
function toQuery(c: Context<AppEnv>): { readonly [name: string]: string } {
  if (!c.req.url.includes("?")) return {};
  const query = queryOf(c);
  const fields = queryFields.map((name) => [name, read(query, name, parseText)] as const);
  return Object.fromEntries(
    fields.filter((field): field is [(typeof field)[0], string] => field[1] !== undefined),
  );
}

const REFUSALS: Readonly<Record<RefusalKind, ErrorCode>> = {
  invalid: "invalid_request",
  unprocessable: "unprocessable",
  too_large: "too_large",
};

function isUntyped(body: unknown): body is object {
  return isObject(body) && !("type" in body);
}

/** Passes a request to the runtime and answers in the way that the client asked for. */
async function take(
  c: Context<AppEnv>,
  host: Host,
  agent: string,
  { request, delivery }: IncomingRequest,
): Promise<Response> {
  const receipt = await host.runtime.process(agent, request);
  const event = await acknowledge(c, host, receipt, delivery);
  const replayed = receipt.replayed ? REPLAYED : undefined;
  if (event !== undefined) return reply(c, event, replayed && { headers: replayed });

  const { requestId, runId, kind } = receipt;
  const path = host.mount.pathOf(c);
  const location = `${path.slice(0, path.lastIndexOf("/"))}/getevents/${requestId}`;
  return reply(c, JSON.stringify({ request_id: requestId, run_id: runId }), {
    status: 202,
    // A configuration has no events, so it has no location.
    headers: { ...(kind !== "configure" && { location }), ...replayed },
  });
}

async function acknowledge(
  c: Context<AppEnv>,
  { runtime, waits }: Host,
  receipt: Receipt,
  { wait, waitMs }: Delivery,
): Promise<string | undefined> {
  // A request that ended before the cancel answers with its end, for every value of `wait`.
  if (receipt.kind === "cancel" && receipt.replayed) return receipt.event;
  // So does an operation that only reads: no log has its events.
  if (receipt.kind === "read") return receipt.event;
  if (wait === "none") return undefined;
  // The event is usually already known, so there is no wait.
  if (wait === "acknowledged" && receipt.event !== undefined) return receipt.event;
  return waits.until(c, (signal) =>
    runtime.acknowledgement(receipt, { until: wait, timeoutMs: waitMs, signal }),
  );
}
