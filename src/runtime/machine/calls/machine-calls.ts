import type { CallId } from "../../../protocol/ids.ts";
import type { Actor } from "../../actor/actor.ts";

/** The parts of a turn that a machine's waits, delays and actors need to become calls. */
export interface MachineCalls {
  readonly actor: Actor;
  /** Whether the machine is stopped; it receives nothing more then. */
  readonly ended: boolean;
  /** Takes the next position of the machine's scope for a call. */
  issue(): CallId;
  /** Cancels a call of a state that the machine has left. */
  drop(callId: CallId): void;
  /**
   * Runs code that starts a call: at once, or during a transition when the transition is recorded. A call that the
   * same transition ends again is then never made.
   */
  afterTransition(start: () => void): void;
}

/** No open calls, for the record of most transitions. */
export const NO_CALLS: { readonly [name: string]: CallId } = {};
