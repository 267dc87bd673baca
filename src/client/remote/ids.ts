import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";

/** The remote ids of a request and its run. */
export interface RemoteIds {
  readonly requestId: string;
  readonly runId?: string;
}

/** The ids in a server's answer to a request; throws if there is no request id. */
export function toIds(json: unknown, name: string): RemoteIds {
  const { request_id: request, run_id: run } = isObject(json) ? json : {};
  const requestId = toId(request);
  const runId = toId(run);
  if (requestId === undefined) throw fault(name, "answers without a request id");
  return { requestId, ...(runId !== undefined && { runId }) };
}

/** An id; in the draft of the protocol some ids are numbers. */
export function toId(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" && value.length <= ID_LIMIT ? value : undefined;
}

/** The error for a protocol violation of a remote agent. */
export function fault(name: string, what: string): AgentError {
  return new AgentError("call_failed", `agent ${name} ${what}`);
}

const ID_LIMIT = 256;
