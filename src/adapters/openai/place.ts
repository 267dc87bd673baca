import { AgentError } from "../../errors.ts";
import { isId } from "../../protocol/ids.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Address, Feed } from "../../runtime/feeds.ts";

/** An answer of this protocol: a segment of a request. */
export interface AnswerPlace {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The id of the event that begins it; absent for the first answer of the request. */
  readonly began?: number;
}

/** The id of an answer. It is known before the request starts, and the same after a restart. */
export function toAnswerId(
  kind: "chatcmpl" | "resp",
  { requestId, began }: Omit<AnswerPlace, "agent" | "runId">,
): string {
  return `${kind}_${requestId}${began === undefined ? "" : `~${began}`}`;
}

/** The id of an item of an answer, by the event that began the item. */
export function toItemId(
  kind: "msg" | "rs" | "mcp" | "mcpr" | "fc" | "call",
  requestId: RequestId,
  event: number,
): string {
  return `${kind}_${requestId}~${event}`;
}

/** What the id of an answer or of an item names; `undefined` for another text. */
export function parseAnswerId(id: string): Pick<AnswerPlace, "requestId" | "began"> | undefined {
  const [, requestId = "", began] = ID.exec(id) ?? [];
  if (!isId(requestId)) return undefined;
  return { requestId, ...(began !== undefined && { began: Number(began) }) };
}

const ID = /^(?:chatcmpl|resp|msg|mcpr|fc|call)_([^~]+)(?:~(\d{1,15}))?$/;

/** The error for an id that names nothing. */
export function unknownAnswer(id: string): AgentError {
  return new AgentError("not_found", `there is no response ${JSON.stringify(id)}`);
}

/** Opens all events of a request, from its start until it ends or waits for an answer. */
export function followAnswer(
  runtime: Runtime,
  { agent, runId, requestId }: AnswerPlace,
  signal: AbortSignal,
): Promise<Feed> {
  const address: Address = { kind: "request", agent, runId, requestId };
  return runtime.follow(address, { after: 0, filter: { level: "all" }, signal });
}
