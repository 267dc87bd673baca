import type { AnyActorLogic, AnyStateMachine } from "xstate";
import { AgentError } from "../../errors.ts";
import { isMachine } from "./chart/chart.ts";

// Machines and actors can come from another copy of XState than that of this package: one of another version, or one that a
// bundler has put into the program. So nothing here asks for the classes or the source text of a copy.

/** The XState of this package. */
export const XSTATE_VERSION = "5.33.3";

/** The oldest XState whose machines are served. */
const OLDEST_VERSION = "5.31.0";

/** Throws `invalid_request` for a machine of a copy of XState that is not served. */
export function checkMachine(agent: string, machine: unknown): asserts machine is AnyStateMachine {
  const hint = `in the project: npm install xstate@${XSTATE_VERSION}`;
  const isOne = typeof machine === "object" && machine !== null && isMachine(machine as AnyActorLogic);
  if (!isOne)
    throw new AgentError(
      "invalid_request",
      `the machine of agent ${agent} is not one of XState 5; troupe has XState ${XSTATE_VERSION}`,
      { hint },
    );
  // XState has them since this version.
  if (typeof (machine as Partial<AnyStateMachine>).options === "object") return;
  throw new AgentError(
    "invalid_request",
    `the machine of agent ${agent} comes from an XState that is older than ${OLDEST_VERSION}; troupe has XState ${XSTATE_VERSION}`,
    { hint },
  );
}

/** The logic of a promise actor. */
export type PromiseLogic = AnyActorLogic & { readonly config: (...args: readonly unknown[]) => unknown };

/** Logic that does something when it is started, for example a callback or an observable. */
export type StartedLogic = AnyActorLogic & Required<Pick<AnyActorLogic, "start">>;

/** Whether logic does something when it is started. */
export function isStarted(logic: AnyActorLogic): logic is StartedLogic {
  return typeof logic.start === "function";
}

/**
 * Whether logic is that of a promise actor, by what its functions do and not by their source text: it alone is done with the data
 * of this event, whose name is the same in all versions 5 of XState.
 */
export function isPromise(logic: AnyActorLogic): logic is PromiseLogic {
  const { config } = logic as { readonly config?: unknown };
  if (typeof config !== "function" || !isStarted(logic)) return false;
  try {
    const { status, output } = logic.transition(ACTIVE, RESOLVED, NO_SCOPE) as Partial<
      Record<string, unknown>
    >;
    return status === "done" && output === RESOLVED.data;
  } catch {
    // A callback looks for its actor.
    return false;
  }
}

const ACTIVE = { status: "active", output: undefined, error: undefined, input: undefined } as const;

const RESOLVED = { type: "xstate.promise.resolve", data: {} } as const;

const NO_SCOPE = {} as never;
