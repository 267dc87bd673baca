import { fromPromise } from "xstate";
import type { AnyActorLogic, AnyStateMachine } from "xstate";
import type { Json } from "../../protocol/json.ts";

/** A promise that a machine has started. */
export interface StartedPromise {
  readonly src: string;
  /** The id of the child actor, equal after a restore. */
  readonly childId: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly start: () => unknown;
}

/** A machine in an endless loop is stopped after this many steps. */
const MAX_ITERATIONS = 1_000;

/** The machine with every promise actor replaced by one whose result is journaled. */
export function withJournaledPromises(
  machine: AnyStateMachine,
  journal: (promise: StartedPromise) => Promise<Json>,
): AnyStateMachine {
  const actors = Object.entries(machine.implementations.actors as { readonly [src: string]: AnyActorLogic });
  const journaled = actors.map(([src, logic]): [string, AnyActorLogic] => [
    src,
    isPromise(logic) ? toJournaled(src, logic, journal) : logic,
  ]);
  const provided = machine.provide({ actors: Object.fromEntries(journaled) }) as AnyStateMachine;
  if (provided.options.maxIterations === Infinity)
    Object.assign(provided.options, { maxIterations: MAX_ITERATIONS });
  return provided;
}

type PromiseLogic = AnyActorLogic & { readonly config: (...args: readonly unknown[]) => unknown };

function toJournaled(
  src: string,
  { config }: PromiseLogic,
  journal: (promise: StartedPromise) => Promise<Json>,
): AnyActorLogic {
  return fromPromise((scope) =>
    journal({
      src,
      childId: scope.self.id,
      input: scope.input,
      signal: scope.signal,
      start: () => config(scope),
    }),
  );
}

/**
 * All promise actors share one transition function that XState does not export; its source text identifies
 * it.
 */
const PROMISE_TRANSITION = String(fromPromise(async () => {}).transition);

function isPromise(logic: AnyActorLogic): logic is PromiseLogic {
  return String(logic.transition) === PROMISE_TRANSITION;
}
