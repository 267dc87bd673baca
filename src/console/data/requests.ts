import type { RequestReceipt } from "../../client/requests/requests.ts";
import { endOf } from "../../client/stream/received-events.ts";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import type { AgentEntry } from "../../protocol/answers/answers.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PageServer } from "./page-server.ts";

/** A request that the server has accepted, and its run; one that only reads has an end instead of events. */
export type SentRequest = Required<Pick<RequestReceipt, "requestId" | "runId">> & Pick<RequestReceipt, "end">;

/** The agents of the server with their descriptions. */
export async function readAgents(
  server: PageServer,
  signal: AbortSignal,
): Promise<readonly AgentDescriptor[]> {
  const { json } = await server.ask("GET", "/", { signal });
  const agents = json as readonly AgentEntry[];
  return Promise.all(agents.map(({ name }) => readAgent(server, name, signal)));
}

/** The names of the agents of the server. */
export async function readAgentNames(server: PageServer, signal: AbortSignal): Promise<readonly string[]> {
  const { json } = await server.ask("GET", "/", { signal });
  return (json as readonly AgentEntry[]).map(({ name }) => name);
}

export async function readAgent(
  server: PageServer,
  agent: string,
  signal: AbortSignal,
): Promise<AgentDescriptor> {
  const { json } = await server.ask("GET", `/${encodeURIComponent(agent)}/describe`, { signal });
  return json as AgentDescriptor;
}

/** Reads an answer that is a text. */
export async function readText(server: PageServer, path: string, signal: AbortSignal): Promise<string> {
  const { response, close } = await server.wire.open("GET", path, { signal });
  try {
    return await response.text();
  } finally {
    close();
  }
}

/** Starts a turn: in a run, or in a new one. A second attempt with the same id starts no second turn. */
export async function sendTurn(
  server: PageServer,
  id: RequestId,
  agent: string,
  operation: string,
  input: Json,
  more: JsonObject = {},
): Promise<SentRequest> {
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
  const end = endOf(json);
  return { requestId, runId, ...(end && { end }) };
}

/** Answers a wait. `agent` is that of the request, whichever agent asks. */
export async function sendAnswer(
  server: PageServer,
  agent: string,
  requestId: RequestId,
  waitId: number,
  values: JsonObject,
): Promise<void> {
  const body = { type: "ResumeWithInput", request_id: requestId, wait_id: waitId, request_keys: values };
  await server.ask("POST", `/${encodeURIComponent(agent)}/process`, { body });
}

/** Tries the held turn of a run again. The answer comes before the try is over. */
export async function sendRetry(server: PageServer, runId: string): Promise<void> {
  await server.ask("POST", `/runs/${encodeURIComponent(runId)}/retry`);
}

/** Ends the held turn of a run with the reason as its error. */
export async function sendEnd(server: PageServer, runId: string): Promise<void> {
  await server.ask("POST", `/runs/${encodeURIComponent(runId)}/end`);
}

/** Removes a run with everything in it. */
export async function sendRemoval(server: PageServer, runId: string): Promise<void> {
  await server.ask("DELETE", `/runs/${encodeURIComponent(runId)}`);
}

/** Sends a dead letter of a run again, once. */
export async function sendLetterAgain(
  server: PageServer,
  runId: string,
  requestId: RequestId,
): Promise<void> {
  await server.ask("POST", letterPath(runId, requestId));
}

/** Removes a dead letter of a run. */
export async function dismissLetter(server: PageServer, runId: string, requestId: RequestId): Promise<void> {
  await server.ask("DELETE", letterPath(runId, requestId));
}

function letterPath(runId: string, requestId: RequestId): string {
  return `/runs/${encodeURIComponent(runId)}/dead-letters/${encodeURIComponent(requestId)}`;
}

/** What can be done with a schedule. */
export type ScheduleAct = "run" | "pause" | "resume" | "remove";

/** Sends the request of a schedule now, or changes it. */
export async function changeSchedule(
  server: PageServer,
  { run_id: runId, id }: { readonly run_id: string; readonly id: string },
  act: ScheduleAct,
): Promise<void> {
  const path = `/runs/${encodeURIComponent(runId)}/schedules/${encodeURIComponent(id)}`;
  if (act === "remove") await server.ask("DELETE", path);
  else await server.ask("POST", `${path}/${act}`);
}

/** Has the actor of a run take requests again that its supervisor has stopped. */
export async function sendResume(server: PageServer, runId: string): Promise<void> {
  await server.ask("POST", `/runs/${encodeURIComponent(runId)}/resume`);
}

/** Cancels a turn. */
export async function sendCancel(server: PageServer, agent: string, requestId: RequestId): Promise<void> {
  const body = { type: "CancelRequest", request_id: requestId };
  await server.ask("POST", `/${encodeURIComponent(agent)}/process`, { body });
}
