import type { Callee } from "../protocol/actors.ts";
import type { ToolErrorCode } from "../protocol/events/outcome-codes.ts";
import type { CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { Model } from "./model.ts";

/** Where in a runtime something is called. */
export interface CallPlace {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly callId: CallId;
  /** The agent whose code calls. */
  readonly agent: string;
}

/** A call of a tool, an effect, a remote agent or an actor, whose start is recorded. */
export interface SubstitutedCall extends CallPlace {
  /** The name in its ToolCall. */
  readonly name: string;
  readonly args: Json;
  readonly callee: Callee;
}

/** How a call ends in place of its work. */
export type SubstituteOutcome =
  | { readonly type: "result"; readonly value: Json; readonly text: string }
  | { readonly type: "error"; readonly code: ToolErrorCode; readonly message: string }
  /** It ends when the code cancels it, or with its turn. */
  | { readonly type: "open" };

/**
 * What answers in place of models, tools, effects, remote agents and actors, as a recording does in an evaluation. The agents
 * of a turn run; what they call has no effect outside.
 */
export interface Substitutes {
  /** The model that is asked in place of one. */
  model(model: Model, place: CallPlace): Model;
  /** The outcome of a call; `undefined` has its work done. */
  call(call: SubstitutedCall): SubstituteOutcome | undefined;
}
