import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { RequestId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import type { ConfigureRequest, MessageRequest, TurnRequest } from "../protocol/requests/requests.ts";
import { RequestCall } from "./call/agent-call.ts";
import { FollowedRequest } from "./call/followed-request.ts";
import type { AcceptedRequest } from "./call/followed-request.ts";
import { outputOf, replyOf } from "./call/outcome.ts";
import type { TurnEnd } from "./call/outcome.ts";
import type { AgentCall, AgentClient, CallOptions, ClientOf, FollowOptions } from "./client-api.ts";
import { createRunClient } from "./run-client.ts";
import { randomId } from "./wire/random-id.ts";
import type { Requests } from "./requests/requests.ts";
import type { FollowLimits } from "./stream/follow-settings.ts";

/** Creates a client of an agent. Its operations are checked by the server; their types exist only for the compiler. */
export function createAgentClient<Definition extends Agent>(
  name: string,
  requests: Requests,
  limits: Partial<FollowLimits> = {},
): ClientOf<Definition> {
  function send<Output>(
    body: TurnBody,
    options: CallOptions,
    toOutput: (end: TurnEnd) => Output,
  ): AgentCall<Output> {
    const requestId = options.requestId ?? randomId("req_");
    const request = toRequest(body, requestId, options);
    const accepted = accept(requests, request, options.signal);
    return new RequestCall(requestId, new FollowedRequest(accepted, { ...options, limits }), toOutput);
  }

  const client: AgentClient = {
    name,
    url: requests.wire.url,
    call(operation, input, options = {}) {
      if (operation === "chat" && isObject(input))
        return send({ type: "ChatRequest", input: input["input"] as string }, options, toChatOutput);
      return send({ type: "OperationRequest", operation, input: input as Json }, options, outputOf);
    },
    chat: (input, options = {}) =>
      send({ type: "ChatRequest", input }, options, replyOf) as AgentCall<string>,
    async tell(message, body, { runId, key, requestId, signal }) {
      const request = { type: "Message", name: message, body, run_id: runId, key };
      await requests.process({ ...request, request_id: requestId ?? randomId("req_") } as MessageRequest, {
        signal,
      });
    },
    actor: (key) => ({
      key,
      call: (operation, input, options) => client.call(operation, input, { ...options, key }),
      chat: (text, options) => client.chat(text, { ...options, key }),
      tell: (message, body, options) => client.tell(message, body, { ...options, key }),
    }),
    request: (id, options = {}) => takeUp(requests, id, { ...options, limits }),
    run: (id) => createRunClient(requests, id, limits),
    answer: ({ requestId, waitId }, values) => requests.resume(requestId, waitId, values),
    cancel: (id) => requests.cancel(id),
    async describe({ signal } = {}) {
      const { json } = await requests.ask("GET", "/describe", { signal });
      return json as AgentDescriptor;
    },
    async configure(args, { runId, key, signal } = {}) {
      const request = { type: "ConfigureRequest", args, run_id: runId, key } as ConfigureRequest;
      await requests.process(request, { wait: true, signal });
    },
  };
  return client;
}

/** A request that was made before. At the address of a server, its agent is found by its status. */
export function takeUp(
  requests: Requests,
  id: RequestId,
  options: FollowOptions & { readonly limits?: Partial<FollowLimits> },
  isServer: boolean = false,
): AgentCall<unknown> {
  const accepted = (async (): Promise<AcceptedRequest> => {
    const { run_id: runId, agent } = await requests.status(id, options.signal);
    return { requestId: id, runId, requests: isServer ? requests.of(agent) : requests };
  })();
  return new RequestCall(id, new FollowedRequest(accepted, options), outputOf);
}

type TurnBody =
  | { readonly type: "ChatRequest"; readonly input: string }
  | { readonly type: "OperationRequest"; readonly operation: string; readonly input: Json };

function toRequest(body: TurnBody, requestId: RequestId, options: CallOptions): TurnRequest {
  const { runId, key, metadata, onBusy, loggingLevel, attachments } = options;
  // JSON leaves out what is undefined.
  return {
    ...body,
    request_id: requestId,
    run_id: runId,
    key,
    request_metadata: metadata,
    on_busy: onBusy,
    logging_level: loggingLevel,
    attachments,
  } as TurnRequest;
}

/** Sends a request. The signal does not stop it half-way, because nobody would know whether it was accepted. */
async function accept(
  requests: Requests,
  request: TurnRequest,
  signal: AbortSignal | undefined,
): Promise<AcceptedRequest> {
  signal?.throwIfAborted();
  const { requestId, runId } = await requests.process(request);
  return { requestId, runId: runId ?? "", requests };
}

/** The output of the operation `chat`. */
function toChatOutput(end: TurnEnd): { readonly output: Json } {
  const reply = replyOf(end);
  return typeof reply === "string" ? { output: reply } : reply;
}
