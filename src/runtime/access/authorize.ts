import { AgentError } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { Principal } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Request } from "../../protocol/requests/requests.ts";

/**
 * What a principal wants to do. `describe`: see an agent at all. `process`: start a turn, or create a run. `read`: see a run, its
 * events, questions and files. `answer`: answer a question, or make a link with which it can be answered. `cancel`: end a turn.
 * `message`: send a message, also a dead letter again. `fork`, `remove`, `configure`: of a run; the configuration of an agent also
 * needs `admin`. `upload`: store a file. `inspect`: what operators see of the server. `admin`: what only admins do.
 */
export type Action =
  | "describe"
  | "process"
  | "read"
  | "answer"
  | "cancel"
  | "message"
  | "fork"
  | "remove"
  | "configure"
  | "upload"
  | "inspect"
  | "admin";

/** With what a principal wants to do something. */
export interface ActionResource {
  /** Whose it is; for the server as a whole, the owner of the principal. */
  readonly owner: string;
  /** The agent; absent for the server as a whole, and for a file that belongs to no run yet. */
  readonly agent?: string;
  /** The run; absent for one that does not exist yet. */
  readonly run?: RunId;
  /** The metadata of the run; those of the request for a run that it would create; otherwise empty. */
  readonly metadata: JsonObject;
}

/**
 * Whether a principal may do something that its owner and roles let it do; nothing that they do not is asked. It is asked often,
 * for each row of a list too, so it must be fast: it cannot wait. When it throws or returns no boolean, the request fails.
 */
export type Authorize = (principal: Principal, action: Action, resource: ActionResource) => boolean;

/** The rule of an application for one principal. */
export type Allows = (action: Action, resource: ActionResource) => boolean;

/** Throws `internal`, with the fault for our own logs, if the rule does not answer: then nothing is allowed. */
export function toAllows(authorize: Authorize, principal: Principal): Allows {
  return (action, resource) => {
    let answer: unknown;
    try {
      answer = authorize(principal, action, resource);
    } catch (cause) {
      throw new AgentError("internal", "the server cannot tell whether this is allowed", { cause });
    }
    if (typeof answer === "boolean") return answer;
    throw new AgentError("internal", "the server cannot tell whether this is allowed", {
      cause: new TypeError(`authorize returned no boolean for the action ${action}`),
    });
  };
}

/** A run as a rule gets it. */
export function toResource(run: Pick<RunEntry, "runId" | "agent" | "owner" | "metadata">): ActionResource {
  const { forked_from: _, ...metadata } = run.metadata;
  return { owner: ownerOf(run), agent: run.agent, run: run.runId, metadata };
}

/** What each request does. */
export const ACTIONS: Readonly<Record<Request["type"], Action>> = {
  ChatRequest: "process",
  OperationRequest: "process",
  Message: "message",
  ResumeWithInput: "answer",
  CancelRequest: "cancel",
  ConfigureRequest: "configure",
};
