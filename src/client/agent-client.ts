import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { RequestId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import type { ConfigureRequest, MessageRequest } from "../protocol/requests/requests.ts";
import { RequestCall } from "./call/agent-call.ts";
import type { AgentReceipt } from "./call/followed-request.ts";
import { chatOutputOf, outputOf, replyOf } from "./call/outcome.ts";
import type { TurnOutcome } from "./call/outcome.ts";
import type { AgentClient, ClientOf } from "./client-api.ts";
import type { AgentCall, AgentCallOptions, RequestFollowOptions } from "./call-api.ts";
import { createRunClient } from "./run-client.ts";
import { randomId } from "./wire/random-id.ts";
import { keepRequests, requestsBehind, toTurnRequest } from "./requests/requests.ts";
import type { NamedRequest, Requests, TurnBody } from "./requests/requests.ts";

/** Creates a client of an agent. Its operations are checked by the server; their types exist only for the compiler. */
export function createAgentClient<Definition extends Agent>(
  name: string,
  requests: Requests,
): ClientOf<Definition> {
  function send<Output>(
    body: TurnBody,
    toOutput: (end: TurnOutcome) => Output,
    options: AgentCallOptions = {},
  ): AgentCall<Output> {
    const requestId = options.requestId ?? randomId("req_");
    const request = toTurnRequest(body, requestId, options);
    const accepted = accept(requests, request, options.signal);
    return new RequestCall(requestId, accepted, options, toOutput);
  }

  const client: AgentClient = {
    name,
    url: requests.wire.url,
    call(operation, input, options) {
      if (operation === "chat" && isObject(input))
        return send({ type: "ChatRequest", input: input["input"] as string }, chatOutputOf, options);
      return send({ type: "OperationRequest", operation, input: input as Json }, outputOf, options);
    },
    chat: (input, options) => send({ type: "ChatRequest", input }, replyOf, options) as AgentCall<string>,
    async tell(message, body, { runId, key, requestId, signal }) {
      const request = {
        type: "Message",
        name: message,
        body,
        run_id: runId,
        key,
        request_id: requestId ?? randomId("req_"),
      };
      await requests.process(request as MessageRequest, signal);
    },
    actor: (key) => ({
      key,
      call: (operation, input, options) => client.call(operation, input, { ...options, key }),
      chat: (text, options) => client.chat(text, { ...options, key }),
      tell: (message, body, options) => client.tell(message, body, { ...options, key }),
    }),
    request: (id, options) => takeUp(requests, id, options),
    run: (id) => createRunClient(requests, id),
    answer: ({ requestId, waitId }, values) => requests.resume(requestId, waitId, values),
    cancel: (id) => requests.cancel(id),
    describe: async (options) => (await requests.ask("GET", "/describe", options)).json as AgentDescriptor,
    async configure(args, { runId, key, signal } = {}) {
      const request = { type: "ConfigureRequest", args, run_id: runId, key } as ConfigureRequest;
      await requests.process(request, signal);
    },
  };
  return keepRequests(client, requests);
}

/** A text that is equal for clients of the same agent with the same credentials, which it contains. */
export function keyOf(client: object): string | undefined {
  return requestsBehind(client)?.wire.key;
}

/** A request that was made before. At the address of a server, its agent is found by its status. */
export function takeUp(
  requests: Requests,
  id: RequestId,
  options: RequestFollowOptions = {},
  isServer: boolean = false,
): AgentCall<unknown> {
  let isChat = false;
  const accepted = requests
    .status(id, options.signal)
    .then(({ run_id: runId, agent, operation }): AgentReceipt => {
      isChat = operation === "chat";
      return { requestId: id, runId, requests: isServer ? requests.of(agent) : requests };
    });
  return new RequestCall(id, accepted, options, (end) => (isChat ? replyOf : outputOf)(end));
}

/** Sends a request. The signal does not stop it half-way, because the client would not know whether it was accepted. */
async function accept(
  requests: Requests,
  request: NamedRequest,
  signal: AbortSignal | undefined,
): Promise<AgentReceipt> {
  signal?.throwIfAborted();
  return { ...(await requests.begin(request)), requests };
}
