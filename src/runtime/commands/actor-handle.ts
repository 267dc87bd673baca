import { AgentError, isInstance } from "../../errors.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { OperationRequest, Request } from "../../protocol/requests/requests.ts";
import type { Scope } from "../access/scope.ts";
import type { Agent, Messages, Operations } from "../agent/agent.ts";
import { isMessageName } from "../agent/resolve-operation.ts";
import type { ActorHandle, ActorRequestOptions, Receipt, RuntimeAskOptions } from "../api.ts";
import type { RunDetails } from "../lists.ts";
import type { Queries } from "../queries/queries.ts";
import { toOutcome } from "../run/to-outcome.ts";
import type { KeyedRuns } from "./keyed-runs.ts";

/** The parts of a runtime that a handle uses. */
export interface ActorHandleParts {
  readonly queries: Queries;
  readonly keyed: KeyedRuns;
  readonly scope: Scope;
  /** Whose the actors with keys are. */
  readonly ownerOfKey: (agent: string) => string;
  readonly timer: (ms: number, fire: () => void) => () => void;
  process(agent: string, request: Request): Promise<Receipt>;
}

/** Makes the handle of an actor for code outside of turns. */
export function toActorHandle<Ops extends Operations, Accepted extends Messages>(
  parts: ActorHandleParts,
  asked: Agent<Ops, Accepted>,
  key: string,
): ActorHandle<Ops, Accepted> {
  const { name: agent } = asked;
  return {
    agent,
    key,
    tell(name: string, given: unknown, { requestId }: ActorRequestOptions = {}) {
      const id = requestId === undefined ? {} : { request_id: requestId };
      if (isMessageName(asked, name))
        return parts.process(agent, { type: "Message", name, body: given as Json, key, ...id });
      return parts.process(agent, {
        type: "OperationRequest",
        operation: name,
        input: given as Json,
        key,
        ...id,
      });
    },
    ask: (operation, input, options) =>
      askAgent(parts, agent, { operation, input }, { ...options, key }) as Promise<never>,
    async get(): Promise<RunDetails | undefined> {
      const runId = await parts.keyed.find({ owner: parts.ownerOfKey(agent), agent, key });
      try {
        return runId === undefined ? undefined : await parts.queries.details(runId, parts.scope);
      } catch (error) {
        // It was removed in the meantime, or the caller does not see it.
        if (isInstance(error, AgentError) && (error.code === "gone" || error.code === "not_found"))
          return undefined;
        throw error;
      }
    },
  };
}

/** Runs an operation as a turn and resolves with its output, for code outside of turns. */
export async function askAgent(
  parts: ActorHandleParts,
  agent: string,
  { operation, input }: { readonly operation: string; readonly input: unknown },
  { key, runId, requestId, timeoutMs }: RuntimeAskOptions = {},
): Promise<Json> {
  const request: OperationRequest = {
    type: "OperationRequest",
    operation,
    input: input as Json,
    ...(key !== undefined && { key }),
    ...(runId !== undefined && { run_id: runId }),
    ...(requestId !== undefined && { request_id: requestId }),
  };
  const receipt = await parts.process(agent, request);
  const { kind, event } = receipt;
  const isKnown = kind === "read" && event !== undefined;
  const completed = isKnown
    ? (JSON.parse(event) as Completed)
    : await completionOf(parts, receipt, timeoutMs);
  const outcome = toOutcome(request, completed);
  if (outcome.ok) return outcome.value;
  throw new AgentError("call_failed", outcome.message, { facts: { code: outcome.code } });
}

type Completed = EventOf<"RequestCompleted">;

/** Waits for the end of a turn, also while it waits for input. A timeout leaves the turn alone. */
async function completionOf(
  { queries, timer }: ActorHandleParts,
  { requestId, runId, owner, after }: Receipt,
  timeoutMs: number | undefined,
): Promise<Completed> {
  const abort = new AbortController();
  const stop = timeoutMs === undefined ? undefined : timer(timeoutMs, () => abort.abort());
  try {
    const address = {
      kind: "request",
      requestId,
      runId: runId ?? "",
      agent: "",
      ...(owner !== undefined && { owner }),
    } as const;
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
