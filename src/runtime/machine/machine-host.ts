import type { CallId } from "../../protocol/ids.ts";
import type { Actor } from "../actor/actor.ts";

/** Where a machine runs: what its questions, delays and promises need to become calls of the turn. */
export interface MachineHost {
  readonly actor: Actor;
  /** Whether the machine is stopped, so that nothing reaches it any more. */
  readonly ended: boolean;
  /** Takes the next place of the machine's scope for a call. */
  issue(): CallId;
  /** Gives up a call that the machine has left behind. */
  drop(callId: CallId): void;
}
