import { AgentError } from "../../errors.ts";

/** The ids of a request and its run on the other side. */
export interface RemoteIds {
  readonly requestId: string;
  readonly runId?: string;
}

/** The ids in what a server answers to a request; throws where it does not say which request it has taken. */
export function toIds(json: unknown, name: string): RemoteIds {
  const { request_id: request, run_id: run } = isObject(json) ? json : {};
  const requestId = toId(request);
  const runId = toId(run);
  if (requestId === undefined) throw fault(name, "does not say which request it has taken");
  return { requestId, ...(runId !== undefined && { runId }) };
}

/** An id, which the draft of the protocol has as a number in places. */
export function toId(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" && value.length <= ID_LIMIT ? value : undefined;
}

/** 43 letters, digits, - and _ that stand for a text, which nobody can find out from them. */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What an agent elsewhere did that it should not. */
export function fault(name: string, what: string): AgentError {
  return new AgentError("call_failed", `agent ${name} ${what}`);
}

/** Whether a value from outside has fields. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ID_LIMIT = 256;
