import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import type { AgentEntry } from "../../protocol/answers/answers.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Server } from "./server.ts";

/** A request that the server has accepted. */
export interface Sent {
  readonly requestId: RequestId;
  readonly runId: RunId;
}

/** The agents of the server with their descriptions. */
export async function readAgents(server: Server, signal: AbortSignal): Promise<readonly AgentDescriptor[]> {
  const { json } = await server.ask("GET", "/", { signal });
  const agents = json as readonly AgentEntry[];
  return Promise.all(agents.map(({ name }) => readAgent(server, name, signal)));
}

export async function readAgent(
  server: Server,
  agent: string,
  signal: AbortSignal,
): Promise<AgentDescriptor> {
  const { json } = await server.ask("GET", `/${encodeURIComponent(agent)}/describe`, { signal });
  return json as AgentDescriptor;
}

/** Reads an answer that is a text. */
export async function readText(server: Server, path: string, signal: AbortSignal): Promise<string> {
  const { response, close } = await server.wire.open("GET", path, { signal });
  try {
    return await response.text();
  } finally {
    close();
  }
}

/** Starts a turn: in a run, or in a new one. A second attempt with the same id starts no second turn. */
export async function startTurn(
  server: Server,
  id: RequestId,
  agent: string,
  operation: string,
  input: Json,
  more: JsonObject = {},
): Promise<Sent> {
  const body: JsonObject = {
    ...(operation === "chat" && typeof input === "string"
      ? { type: "ChatRequest", input }
      : { type: "OperationRequest", operation, input }),
    request_id: id,
    ...more,
  };
  const { json } = await server.ask("POST", `/${encodeURIComponent(agent)}/process`, { body });
  const { request_id: requestId, run_id: runId } = json as {
    readonly request_id: RequestId;
    readonly run_id: RunId;
  };
  return { requestId, runId };
}

/** Answers a wait. `agent` is that of the request, whichever agent asks. */
export async function answerWait(
  server: Server,
  agent: string,
  requestId: RequestId,
  waitId: number,
  values: JsonObject,
): Promise<void> {
  const body = { type: "ResumeWithInput", request_id: requestId, wait_id: waitId, request_keys: values };
  await server.ask("POST", `/${encodeURIComponent(agent)}/process`, { body });
}

/** Cancels a turn. */
export async function cancelTurn(server: Server, agent: string, requestId: RequestId): Promise<void> {
  const body = { type: "CancelRequest", request_id: requestId };
  await server.ask("POST", `/${encodeURIComponent(agent)}/process`, { body });
}
