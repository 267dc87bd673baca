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
  kind: "chatcmpl",
  { requestId, began }: Omit<AnswerPlace, "agent" | "runId">,
): string {
  return `${kind}_${requestId}${began === undefined ? "" : `~${began}`}`;
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
