import { AgentError, isInstance } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { OperationRequest, Request } from "../../protocol/requests/requests.ts";
import type { Agent, Operations } from "../agent/agent.ts";
import type { ActorHandle, Receipt, RunDetails } from "../api.ts";
import type { Queries } from "../queries/queries.ts";
import { toOutcome } from "../run/to-outcome.ts";
import type { KeyedRuns } from "./keyed-runs.ts";

/** The parts of a runtime that a handle uses. */
export interface ActorHandleParts {
  readonly queries: Queries;
  readonly keyed: KeyedRuns;
  readonly timer: (ms: number, fire: () => void) => () => void;
  process(agent: string, request: Request): Promise<Receipt>;
}

/** Makes the handle of an actor for code outside of turns. */
export function toActorHandle<Ops extends Operations>(
  parts: ActorHandleParts,
  { name: agent }: Agent<Ops>,
  key: string,
): ActorHandle<Ops> {
  const toRequest = (operation: string, input: unknown, requestId?: string): OperationRequest => ({
    type: "OperationRequest",
    operation,
    input: input as Json,
    key,
    ...(requestId !== undefined && { request_id: requestId }),
  });
  return {
    agent,
    key,
    tell: (operation, input, { requestId } = {}) =>
      parts.process(agent, toRequest(operation, input, requestId)),
    async ask(operation, input, { requestId, timeoutMs } = {}) {
      const request = toRequest(operation, input, requestId);
      const receipt = await parts.process(agent, request);
      const outcome = toOutcome(request, await completionOf(parts, receipt, timeoutMs));
      if (outcome.ok) return outcome.value as never;
      throw new AgentError("call_failed", outcome.message, { facts: { code: outcome.code } });
    },
    async get(): Promise<RunDetails | undefined> {
      const runId = await parts.keyed.find(agent, key);
      try {
        return runId === undefined ? undefined : await parts.queries.details(runId);
      } catch (error) {
        // It was removed in the meantime.
        if (isInstance(error, AgentError) && error.code === "gone") return undefined;
        throw error;
      }
    },
  };
}

/** Waits for the end of a turn, also while it waits for input. A timeout leaves the turn alone. */
async function completionOf(
  { queries, timer }: ActorHandleParts,
  { requestId, runId, after }: Receipt,
  timeoutMs: number | undefined,
): Promise<Event & { readonly type: "RequestCompleted" }> {
  const abort = new AbortController();
  const stop = timeoutMs === undefined ? undefined : timer(timeoutMs, () => abort.abort());
  try {
    const address = { kind: "request", requestId, runId: runId ?? "", agent: "" } as const;
    const { signal } = abort;
    const filter = { types: ["RequestCompleted"], maxDepth: 0 } as const;
    const feed = await queries.follow(address, { after, forever: true, filter, signal });
    for await (const { events } of feed.pages) {
      for (const text of events) {
        const event = JSON.parse(text) as Event;
        if (event.type === "RequestCompleted") return event;
      }
    }
    if (!signal.aborted) throw new AgentError("gone", `the run of request ${requestId} was removed`);
    throw new AgentError("timeout", `request ${requestId} did not end within ${timeoutMs ?? 0} ms`);
  } finally {
    stop?.();
    abort.abort();
  }
}
